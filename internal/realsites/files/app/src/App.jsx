import { Link, Route, Routes, useParams } from "react-router-dom";
import articles from "./articles.json";

export { articles };
export const categories = [...new Set(articles.map((a) => a.category))].sort();

const to = (a) => `/articles/${a.slug}`;
const List = ({ of }) => <ul>{of.map((a) => <li key={a.id}><Link to={to(a)}>{a.title}</Link></li>)}</ul>;

function Home() {
	return <><h1>The Almanac</h1><p>What we wrote last.</p><List of={[...articles].reverse().slice(0, 10)} /></>;
}

function Topic() {
	const { name } = useParams();
	const of = articles.filter((a) => a.category.toLowerCase() === name);
	return <><h1>{of[0]?.category}</h1><List of={of} /></>;
}

function Article() {
	const { slug } = useParams();
	const a = articles.find((a) => a.slug === slug);
	if (!a) return <h1>Not found</h1>;
	const linked = (a.links ?? []).map((id) => articles.find((b) => b.id === id)).filter(Boolean);
	return (
		<article>
			<h1>{a.title}</h1>
			<time dateTime={a.date}>{a.date.slice(0, 10)}</time>
			{a.paragraphs.map((p, i) => <p key={i}>{p}</p>)}
			<h2>See also</h2>
			<List of={linked} />
		</article>
	);
}

export function App() {
	return (
		<>
			<nav><Link to="/">Home</Link> {categories.map((c) => <Link key={c} to={`/topics/${c.toLowerCase()}`}>{c}</Link>)}</nav>
			<main>
				<Routes>
					<Route path="/" element={<Home />} />
					<Route path="/topics/:name" element={<Topic />} />
					<Route path="/articles/:slug" element={<Article />} />
				</Routes>
			</main>
		</>
	);
}
