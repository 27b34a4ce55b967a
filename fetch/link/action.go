package link

import (
	"net/url"
	"strings"
	"unicode"
)

// Some links do something when they are followed, for who is logged in: they log out, delete, put
// into a cart. That cannot be learned by following them. So they are recognised by words, in the
// languages that most of the web is written in, by marks against forged requests, which a link
// that only shows something does not need, and by what scripts are told of their method.
//
// A page about such words may be taken for one of these links: IsAction and Link.Action are for
// those who are logged in, to whom a page lost is worth less than a page deleted.

// actionWords are what links that act are called, in paths, queries and texts: letters only, in
// lower case.
var actionWords = wordSet(`
	logout logoff signout signoff userlogout dologout logoutuser customerlogout endsession
	abmelden ausloggen abmeldung logouten déconnexion deconnexion sedéconnecter sedeconnecter
	cerrarsesión cerrarsesion desconectarse salir sair encerrarsessão terminarsessão
	esci disconnetti disconnettiti uitloggen afmelden loggaut loggaud logud loggut kirjauduulos
	wyloguj wylogujsię odhlásit odhlásitse odhlasit kijelentkezés deconectare çıkış çıkışyap oturumukapat
	выйти выход вийти вихід αποσύνδεση ログアウト サインアウト 退出 退出登录 登出 注销 로그아웃 تسجيلالخروج התנתק

	login logon signin userlogin dologin wplogin anmelden einloggen connexion seconnecter iniciarsesión iniciarsesion
	acceder entrar accedi inloggen aanmelden loggain loggin logind zaloguj zalogujsię přihlásit přihlásitse
	войти вход увійти σύνδεση ログイン サインイン 登录 登入 로그인 تسجيلالدخول התחבר girişyap

	delete remove destroy erase trash discard drop purge deleteaccount removeitem deletepost movetotrash
	löschen entfernen kontolöschen supprimer effacer retirer eliminar borrar quitar suprimir excluir apagar remover
	elimina cancella rimuovi verwijderen verwijder tabort radera slett slet poista usuń usun skasuj
	smazat odstranit törlés șterge sil kaldır удалить видалити διαγραφή 削除 削除する 删除 刪除 삭제 حذف מחק

	cart basket checkout addtocart addtobasket addtobag cartadd basketadd removefromcart cartremove basketremove buynow placeorder
	addtowishlist wishlistadd warenkorb indenwarenkorb zurkasse kasse jetztkaufen panier ajouteraupanier commander
	carrito añadiralcarrito comprar comprarahora finalizarcompra adicionaraocarrinho carrinho carrello aggiungialcarrello
	winkelwagen inwinkelwagen läggivarukorg varukorg dodajdokoszyka koszyk dokošíku вкорзину корзина купить вкошик
	カートに入れる カート 加入购物车 購物車 购物车 장바구니 장바구니에담기 sepeteekle sepet

	unsubscribe abbestellen sedésabonner sedesabonner desabonnement cancelarsuscripción disiscriviti uitschrijven отписаться 配信停止
	vote upvote downvote voteup votedown like unlike unfollow report flag spam ban approve reject
	revert rollback restore undo undelete cancel cancelorder stornieren deactivate closeaccount markread markasread markallread markallasread
`)

// actionVerbs act wherever they stand in names as programs have them: deletePost, user_logout.
var actionVerbs = wordSet(`logout logoff signout signoff login signin delete remove destroy erase trash purge unsubscribe`)

// leaveVerbs are those of them that end a session, for which names may be longer.
var leaveVerbs = wordSet(`logout logoff signout signoff`)

// queryVerbs are what programs call an action in queries, where words of a language are rare.
var queryVerbs = wordSet(`del rm`)

// actionTokens are names of parameters with which a site makes sure that a request comes from a
// page of its own: what needs that changes something.
var actionTokens = wordSet(`
	wpnonce csrf csrftoken csrfmiddlewaretoken xsrf xsrftoken authenticitytoken antiforgerytoken requestverificationtoken
	token nonce sesskey formkey formtoken formhash securitytoken sectok edittoken logouttoken
`)

// freeParams are names of parameters whose values are words of the reader's, not of the site's.
var freeParams = wordSet(`q s query search searchword searchterm keyword keywords term text tag label`)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[letters(w)] = true
	}
	return set
}

// letters returns the letters of s in lower case.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// IsAction reports whether the words of a URL say that following it does something.
func IsAction(rawURL string) bool {
	_, rest, _ := strings.Cut(rawURL, "://")
	rest, query, _ := strings.Cut(rest, "?")
	_, path, _ := strings.Cut(rest, "/")
	if isActionPath(path, url.PathUnescape) {
		return true
	}
	for param := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(param, "=")
		if u, err := url.QueryUnescape(name); err == nil {
			name = u
		}
		if u, err := url.QueryUnescape(value); err == nil {
			value = u
		}
		plain := letters(name)
		if actionTokens[plain] || queryVerbs[plain] && plain != "rm" || isActionName(name, programs) {
			return true
		}
		if strings.Contains(value, "/") { // a route, as in ?route=account/logout
			if isActionPath(value, nil) {
				return true
			}
		} else if !freeParams[plain] && (isActionName(value, programs) || queryVerbs[letters(value)]) {
			return true
		}
	}
	return false
}

// isActionPath reports whether a segment of a path acts, or two that stand one behind the other and
// make a word. unescape, where it is not nil, is applied to each.
func isActionPath(path string, unescape func(string) (string, error)) bool {
	before, numbered, dated := "", false, false
	for rest, more := path, true; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		if unescape != nil {
			if u, err := unescape(segment); err == nil {
				segment = u
			}
		}
		segment, _, _ = strings.Cut(segment, ";")
		if i := strings.LastIndexByte(segment, '.'); i > 0 && len(segment)-i <= 7 { // .action is the longest
			if leaveVerbs[letters(segment[i:])] { // a method, as in user.logout
				return true
			}
			segment = segment[:i]
		}
		next, _, _ := strings.Cut(rest, "/")
		by := titles
		if numbered || isNumber(next) { // what stands beside a number is no title
			by = programs
		}
		if isActionName(segment, by) {
			return true
		}
		word := letters(segment)
		if before != "" && word != "" && actionWords[before+word] {
			return true
		}
		dated = isNumber(segment) && (dated || isYear(segment))
		before, numbered = word, isNumber(segment) && !dated
	}
	return false
}

// isNumber reports whether a segment is the number of something.
func isNumber(segment string) bool {
	return segment != "" && strings.Trim(segment, "0123456789") == ""
}

func isYear(number string) bool {
	return len(number) == 4 && (number[:2] == "19" || number[:2] == "20")
}

// How a name may be written.
const (
	titles   = "_."  // with hyphens between the words where it is a title, and not where it acts
	programs = "_.-" // as programs write names, with hyphens, too
)

// isActionName reports whether a segment of a path, or a name or value of a query, acts: as a
// whole, or as a name of few words that are written as programs write them. separators stand
// between these.
func isActionName(s, separators string) bool {
	if len(s) > 64 {
		return false
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 { // of a namespace, as Special:UserLogout
		s = s[i+1:]
	}
	if actionWords[letters(s)] {
		return true
	}
	if strings.ContainsAny(s, " +") {
		return false
	}
	if strings.Contains(s, "-") && separators == titles {
		first, last, _ := strings.Cut(s, "-")
		return first != "" && leaveVerbs[letters(last)] && !strings.Contains(last, "-") // member-logout
	}
	words, verb, leaves, before := 0, false, false, ""
	start := 0
	end := func(at int) {
		if at > start {
			words++
			w := letters(s[start:at])
			verb = verb || actionVerbs[w] || actionVerbs[before+w]
			leaves = leaves || leaveVerbs[w] || leaveVerbs[before+w]
			before = w
		}
		start = at
	}
	lower := false
	for i, r := range s {
		if strings.ContainsRune(separators, r) {
			end(i)
			start = i + 1
		} else if unicode.IsUpper(r) && lower {
			end(i)
		}
		lower = unicode.IsLower(r)
	}
	end(len(s))
	return verb && words <= 3 || leaves && words <= 5
}

// maxActionText is how many bytes the content of an anchor may have that is called by an action.
const maxActionText = 256

// isActionText reports whether a text is all that a link which acts is called.
func isActionText(text string) bool { return len(text) <= 64 && actionWords[letters(text)] }

// declared reports whether the attributes of the current tag, an anchor, say that it acts: a
// method other than GET, a question to be answered first, a name.
func (x *Extractor) declared() bool {
	s := &x.s
	for _, a := range [...]int{attrMethod, attrTurboMethod} {
		if s.has(a) && !equalFold(s.attr(a), "get") {
			return true
		}
	}
	if s.has(attrConfirm) || s.has(attrTurboConfirm) {
		return true
	}
	if s.has(attrOnclick) && strings.Contains(string(s.attr(attrOnclick)), "confirm(") {
		return true
	}
	for _, a := range [...]int{attrTitle, attrLabel} {
		if s.has(a) && isActionText(string(x.value(a))) {
			return true
		}
	}
	for rel := range strings.FieldsSeq(string(s.attr(attrRel))) {
		if actionWords[letters(rel)] {
			return true
		}
	}
	return false
}
