<?php
// php wordpress.php ROOT CHANGE: installs WordPress into its database if it is not there yet, and
// carries out the change of the JSON file CHANGE. Prints a line "OP ID PATH [NEW PATH]" for each article.

[, $root, $file] = $argv;
$change = json_decode(file_get_contents($file), true);
$_SERVER['HTTP_HOST'] = getenv('REALSITES_HOST');
$_SERVER['REQUEST_METHOD'] = 'GET';
if (getenv('REALSITES_INSTALL')) {
	define('WP_INSTALLING', true);
}
require $root . '/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
require_once ABSPATH . 'wp-admin/includes/user.php';

if (getenv('REALSITES_INSTALL')) {
	wp_install('The Almanac', 'admin', 'admin@example.org', true, '', 'secret');
	switch_theme('twentytwentyone');
	update_option('permalink_structure', '/%year%/%monthnum%/%day%/%postname%/');
	update_option('comment_moderation', 0);
	update_option('comment_previously_approved', 0);
	exit; // what comes next wants a start with the installation there
}
global $wp_rewrite;
$wp_rewrite->flush_rules(false);

const KEY = '_realsites';

// post returns the post of an article.
function post($id) {
	return get_posts(['meta_key' => KEY, 'meta_value' => $id, 'post_status' => 'any', 'numberposts' => 1])[0];
}

function path($post) {
	return wp_make_link_relative(get_permalink($post));
}

function body($article) {
	$html = '';
	foreach ($article['paragraphs'] as $i => $text) {
		$html .= "<!-- wp:paragraph -->\n<p>$text";
		if ($i < count($article['links'] ?? []) && ($to = post($article['links'][$i]))) {
			$html .= ' <a href="' . get_permalink($to) . '">' . esc_html($to->post_title) . '</a>';
		}
		$html .= "</p>\n<!-- /wp:paragraph -->\n";
	}
	return $html;
}

function author($name) {
	$user = get_user_by('login', $name);
	return $user ? $user->ID : wp_insert_user(['user_login' => $name, 'user_pass' => 'secret', 'role' => 'author', 'display_name' => ucfirst($name)]);
}

foreach ($change['publish'] ?? [] as $a) {
	$date = date('Y-m-d H:i:s', strtotime($a['date']));
	$id = wp_insert_post([
		'post_title' => $a['title'], 'post_name' => $a['slug'], 'post_content' => body($a), 'post_status' => 'publish',
		'post_date' => $date, 'post_date_gmt' => $date, 'post_author' => author($a['author']),
		'post_category' => [wp_create_category($a['category'])], 'tags_input' => $a['tags'], 'meta_input' => [KEY => $a['id']],
	], true);
	if (is_wp_error($id)) {
		fwrite(STDERR, $id->get_error_message() . "\n");
		exit(1);
	}
	$previous = 0;
	foreach ($a['comments'] ?? [] as $c) {
		$previous = wp_insert_comment([
			'comment_post_ID' => $id, 'comment_author' => $c['author'], 'comment_content' => $c['text'], 'comment_approved' => 1,
			'comment_date' => date('Y-m-d H:i:s', strtotime($c['date'])), 'comment_parent' => $c['reply'] ? $previous : 0,
		]);
	}
	echo "publish {$a['id']} ", path($id), "\n";
}
foreach ($change['edit'] ?? [] as $a) {
	$p = post($a['id']);
	wp_update_post(['ID' => $p->ID, 'post_content' => body($a)]);
	echo "edit {$a['id']} ", path($p->ID), "\n";
}
foreach ($change['rename'] ?? [] as $a) {
	$p = post($a['id']);
	$old = path($p->ID);
	wp_update_post(['ID' => $p->ID, 'post_title' => $a['title'], 'post_name' => $a['slug']]);
	echo "rename {$a['id']} $old ", path($p->ID), "\n";
}
foreach ($change['delete'] ?? [] as $id) {
	$p = post($id);
	echo "delete $id ", path($p->ID), "\n";
	wp_delete_post($p->ID, true);
}
