<?php
// php mediawiki.php CHANGE: a maintenance script of MediaWiki that carries out the change of the
// JSON file CHANGE. Prints a line "OP ID PATH [NEW PATH]" for each article.

require_once getenv('MW_INSTALL_PATH') . '/maintenance/Maintenance.php';

use MediaWiki\MediaWikiServices;

class Change extends Maintenance {
	public function __construct() {
		parent::__construct();
		$this->addArg('change', 'JSON file');
	}

	// Titles by article: a file beside the settings, as a title is all that names a page.
	private $titles = [];

	public function execute() {
		$change = json_decode(file_get_contents($this->getArg(0)), true);
		$kept = dirname(getenv('MW_CONFIG_FILE')) . '/titles.json';
		if (file_exists($kept)) {
			$this->titles = json_decode(file_get_contents($kept), true);
		}
		$services = MediaWikiServices::getInstance();
		// All titles first: an article may link to one that is not written yet.
		foreach ($change['publish'] ?? [] as $a) {
			$this->titles[$a['id']] = $a['title'];
		}
		foreach ($change['publish'] ?? [] as $a) {
			$this->write($a);
			$this->output("publish {$a['id']} " . $this->path($a['id']) . "\n");
		}
		foreach ($change['edit'] ?? [] as $a) {
			$this->write($a);
			$this->output("edit {$a['id']} " . $this->path($a['id']) . "\n");
		}
		foreach ($change['rename'] ?? [] as $i => $a) {
			$from = Title::newFromText($this->titles[$a['id']]);
			$to = Title::newFromText($a['title']);
			$old = $this->path($a['id']);
			// Half of them leave a redirect behind, as is the default, the others nothing.
			$status = $services->getMovePageFactory()->newMovePage($from, $to)->move($this->user(), 'a better title', $i % 2 == 0);
			if (!$status->isOK()) {
				$this->fatalError("move of $from: $status");
			}
			$this->titles[$a['id']] = $a['title'];
			$this->output("rename {$a['id']} $old " . $this->path($a['id']) . "\n");
		}
		foreach ($change['delete'] ?? [] as $id) {
			$page = $services->getWikiPageFactory()->newFromTitle(Title::newFromText($this->titles[$id]));
			$path = $this->path($id);
			$status = $page->doDeleteArticleReal('not needed', $this->user());
			if (!$status->isOK()) {
				$this->fatalError("deletion of $path: $status");
			}
			$this->output("delete $id $path\n");
		}
		if (!file_exists($kept)) {
			$list = "Welcome.\n\n== Topics ==\n";
			foreach (array_unique(array_column($change['publish'], 'category')) as $category) {
				$list .= '* [[:Category:' . $category . "]]\n";
				$this->save("Category:$category", "What there is about " . strtolower($category) . ".");
			}
			$this->save('Main Page', $list);
		}
		file_put_contents($kept, json_encode($this->titles));
	}

	private function user() {
		return User::newSystemUser('Importer', ['steal' => true]);
	}

	private function path($id) {
		return Title::newFromText($this->titles[$id])->getLocalURL();
	}

	private function write($article) {
		$text = '';
		foreach ($article['paragraphs'] as $i => $paragraph) {
			$text .= $paragraph;
			if (isset($article['links'][$i]) && isset($this->titles[$article['links'][$i]])) {
				$text .= ' See also [[' . $this->titles[$article['links'][$i]] . ']].';
			}
			$text .= "\n\n" . ($i == 1 ? "== History ==\n\n" : '');
		}
		$this->save($this->titles[$article['id']], $text . "[[Category:{$article['category']}]]\n");
	}

	private function save($title, $text) {
		$page = MediaWikiServices::getInstance()->getWikiPageFactory()->newFromTitle(Title::newFromText($title));
		$updater = $page->newPageUpdater($this->user());
		$updater->setContent('main', ContentHandler::makeContent($text, $page->getTitle()));
		$updater->saveRevision(CommentStoreComment::newUnsavedComment('text'));
		if (!$updater->wasSuccessful()) {
			$this->fatalError("$title: " . $updater->getStatus());
		}
	}
}

$maintClass = Change::class;
require_once RUN_MAINTENANCE_IF_MAIN;
