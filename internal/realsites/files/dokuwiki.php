<?php
// php dokuwiki.php ROOT CHANGE: carries out the change of the JSON file CHANGE in the DokuWiki in
// ROOT. Prints a line "OP ID PATH [NEW PATH]" for each article.

[, $root, $file] = $argv;
$change = json_decode(file_get_contents($file), true);
$_SERVER['HTTP_HOST'] = getenv('REALSITES_HOST');
$_SERVER['SCRIPT_NAME'] = '/doku.php';
$_SERVER['REMOTE_ADDR'] = '127.0.0.1';
define('DOKU_INC', $root . '/');
define('NOSESSION', 1);
require DOKU_INC . 'inc/init.php';

// All articles by their number: the wiki itself knows them by name only.
$kept = dirname($root) . '/articles.json';
$articles = file_exists($kept) ? json_decode(file_get_contents($kept), true) : [];

function id($a) {
	return strtolower($a['category']) . ':' . str_replace('-', '_', $a['slug']);
}

function write($a) {
	global $articles;
	$text = "====== {$a['title']} ======\n\n";
	foreach ($a['paragraphs'] as $i => $paragraph) {
		$text .= $paragraph;
		$to = $articles[$a['links'][$i] ?? -1] ?? null;
		if ($to) {
			$text .= ' See [[:' . id($to) . '|' . $to['title'] . ']].';
		}
		$text .= "\n\n" . ($i == 1 ? "===== History =====\n\n" : '');
	}
	saveWikiText(id($a), $text, 'text');
}

function path($a) {
	return wl(id($a), '', false, '&');
}

foreach ($change['publish'] ?? [] as $a) {
	$articles[$a['id']] = $a;
}
foreach ($change['publish'] ?? [] as $a) {
	write($a);
	echo "publish {$a['id']} ", path($a), "\n";
}
foreach ($change['edit'] ?? [] as $a) {
	$articles[$a['id']] = $a;
	write($a);
	echo "edit {$a['id']} ", path($a), "\n";
}
foreach ($change['rename'] ?? [] as $a) {
	// Without a plugin a page is moved by writing it anew and emptying the old one.
	$old = $articles[$a['id']];
	saveWikiText(id($old), '', 'moved');
	$articles[$a['id']] = $a;
	write($a);
	echo "rename {$a['id']} ", path($old), ' ', path($a), "\n";
}
foreach ($change['delete'] ?? [] as $id) {
	saveWikiText(id($articles[$id]), '', 'not needed');
	echo "delete $id ", path($articles[$id]), "\n";
	unset($articles[$id]);
}
$categories = array_unique(array_column($articles, 'category'));
sort($categories);
$start = "====== The Almanac ======\n\n";
foreach ($categories as $category) {
	$start .= '  * [[' . strtolower($category) . ":start|$category]]\n";
	$list = "====== $category ======\n\n";
	foreach ($articles as $a) {
		if ($a['category'] == $category) {
			$list .= '  * [[:' . id($a) . '|' . $a['title'] . "]]\n";
		}
	}
	saveWikiText(strtolower($category) . ':start', $list, 'list');
}
saveWikiText('start', $start, 'list');
file_put_contents($kept, json_encode($articles));
