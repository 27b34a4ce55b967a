// Writes each path of the app as a page of its own: dist/articles/x/index.html.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { paths, render, title } from "./dist-server/server.js";

const shell = readFileSync("dist/index.html", "utf8");
for (const path of paths) {
	let page = shell.replace("<!--page-->", () => render(path));
	if (title(path)) {
		page = page.replace("<title>", `<title>${title(path)} – `);
	}
	mkdirSync(`dist${path}`, { recursive: true });
	writeFileSync(`dist${path}/index.html`, page);
}
