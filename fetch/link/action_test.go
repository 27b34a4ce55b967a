package link

import (
	"slices"
	"testing"
)

func TestIsAction(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"https://a.test/logout":                                            true,
		"https://a.test/Log-Out/":                                          true,
		"https://a.test/account/sign_out.php":                              true,
		"https://a.test/users/userLogout.do":                               true,
		"https://a.test/index.php?title=Special:UserLogout":                true,
		"https://a.test/wp-login.php?action=logout&x=1":                    true,
		"https://a.test/wp-admin/post.php?post=1&action=trash":             true,
		"https://a.test/wp-admin/edit.php?post=1&_wpnonce=0a1b2c":          true,
		"https://a.test/posts/5/delete":                                    true,
		"https://a.test/delete/5":                                          true,
		"https://a.test/ajax/delete_comment?id=5":                          true,
		"https://a.test/ajax/deletePost?id=5":                              true,
		"https://a.test/shop/?add-to-cart=5":                               true,
		"https://a.test/cart/add/5":                                        true,
		"https://a.test/cart;jsessionid=1/add/5":                           true,
		"https://a.test/user/login":                                        true,
		"https://a.test/a?sesskey=1":                                       true,
		"https://a.test/a?do=show&csrf_token=1":                            true,
		"https://a.test/konto/abmelden":                                    true,
		"https://a.test/d%C3%A9connexion":                                  true,
		"https://a.test/%D0%B2%D1%8B%D0%B9%D1%82%D0%B8":                    true,
		"https://a.test/unsubscribe?m=1":                                   true,
		"https://a.test/index.php?route=account/logout":                    true,
		"https://a.test/index.php?route=checkout%2Fcart%2Fadd":             true,
		"https://a.test/?q=user/logout":                                    true,
		"https://a.test/j_spring_security_logout":                          true,
		"https://a.test/admin_log_out":                                     true,
		"https://a.test/member-logout/":                                    true,
		"https://a.test/rest/user.logout":                                  true,
		"https://a.test/delete-comment/5":                                  true,
		"https://a.test/comments/5/delete-confirm":                         true,
		"https://a.test/?action=delete-comment&c=5":                        true,
		"https://a.test/admin/?act=del&id=5":                               true,
		"https://a.test/files?cmd=rm&f=1":                                  true,
		"https://a.test/?del=5":                                            true,
		"https://a.test/":                                                  false,
		"https://a.test/delete-files-in-linux":                             false,
		"https://a.test/blog/how-to-logout":                                false,
		"https://a.test/2020/01/deleting-things/":                          false,
		"https://a.test/sign-in-with-apple":                                false,
		"https://a.test/es/salir-de-casa":                                  false,
		"https://a.test/it/cancella-debiti":                                false,
		"https://a.test/wissen/tiere/":                                     false,
		"https://a.test/news/cancel-culture?from=/news":                    false,
		"https://a.test/a?ref=/blog/how-to-delete-a-file":                  false,
		"https://a.test/2020/delete-files-in-linux":                        false,
		"https://a.test/2020/01/05/delete-cascade/":                        false,
		"https://a.test/posts/5":                                           false,
		"https://a.test/blog/how-to-delete-a-file":                         false,
		"https://a.test/blog/2020/delete-cascade.html":                     false,
		"https://a.test/logout-guide/":                                     false,
		"https://a.test/search?q=delete":                                   false,
		"https://a.test/index.php?title=Deletion_policy_of_this_long_wiki": false,
		"https://a.test/cartography/":                                      false,
		"https://a.test/a?page=2&sort=name":                                false,
		"https://login.test/a":                                             false,
		"nonsense":                                                         false,
	} {
		if got := IsAction(url); got != want {
			t.Errorf("IsAction(%q) = %t, want %t", url, got, want)
		}
	}
}

// TestLinkActions checks what anchors say of themselves.
func TestLinkActions(t *testing.T) {
	t.Parallel()
	const body = `<a href=/1>Log out</a><a href=/2 data-method="DELETE">x</a><a href=/3 data-method=get>x</a>
<a href=/4 onclick="return confirm('Sure?')">x</a><a href=/5 onclick="track()">x</a><a href=/6 data-turbo-method=post>x</a>
<a href=/7 data-confirm="Sure?">x</a><a href=/8 title="Löschen"><i></i></a><a href=/9><img alt=Delete></a>
<a href=/10>Deleted scenes</a><a href=/11>How to delete a file</a><a href=/12><span>In den</span> <b>Warenkorb</b> (3)</a>
<a href=/13 aria-label="ログアウト">x</a><a href=/14 rel="nofollow logout">x</a><a href=/15 rel=nofollow>x</a>
<a href=/16 data-turbo-confirm="Sure?">x</a><a href=/17>Se déconnecter</a><a href=/18>Read more</a>`
	want := []string{"/1", "/2", "/4", "/6", "/7", "/8", "/9", "/12", "/13", "/14", "/16", "/17"}
	var got, none []string
	for _, l := range Extract([]byte(body), Options{URL: "https://a.test/", ContentType: "text/html; charset=utf-8", Actions: true}).Links {
		if l.Action {
			got = append(got, l.URL[len("https://a.test"):])
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("actions %q, want %q", got, want)
	}
	for _, l := range Extract([]byte(body), Options{URL: "https://a.test/"}).Links {
		if l.Action {
			none = append(none, l.URL)
		}
	}
	if len(none) > 0 {
		t.Errorf("nobody asked, and yet: %q", none)
	}
}

func FuzzIsAction(f *testing.F) {
	f.Add("https://a.test/delete_post?_wpnonce=1&a%zz=%ff")
	f.Fuzz(func(t *testing.T, url string) { IsAction(url) })
}
