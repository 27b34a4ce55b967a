import { renderToString } from "react-dom/server";
import { StaticRouter } from "react-router-dom/server";
import { App, articles, categories } from "./App.jsx";

export const paths = ["/", ...categories.map((c) => `/topics/${c.toLowerCase()}`), ...articles.map((a) => `/articles/${a.slug}`)];
export const title = (path) => articles.find((a) => path === `/articles/${a.slug}`)?.title;
export const render = (path) => renderToString(<StaticRouter location={path}><App /></StaticRouter>);
