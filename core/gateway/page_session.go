package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/people"
	"github.com/saysohq/sayso/presentation"
	"github.com/saysohq/sayso/presentation/web"
)

// CookieName is the name of the cookie that carries the bearer of a browser's
// session. It is the deployment's own: cookies know no ports, so two services on one
// host would otherwise sign each other's people out. Over TLS the name takes a prefix:
// a browser then lets no plain connection set it and, without a base path, no
// neighbouring host either.
func (c *PageConfig) CookieName() string {
	own := sha256.Sum256([]byte("sayso cookie " + c.Deployment))
	name := "sayso_session_" + hex.EncodeToString(own[:4])
	switch {
	case !c.Secure:
		return name
	case c.Links.Base() == "":
		return "__Host-" + name
	}
	return "__Secure-" + name
}

// maxForm bounds a posted form in bytes: a note of 1,000 code points, escaped
// three times over, and the tokens.
const maxForm = 64 << 10

// caller is the person of the request's session. Errors: ErrUnauthenticated, or
// what keeps the service from telling.
func (p *Pages) caller(r *http.Request) (core.Caller, error) {
	cookie, err := r.Cookie(p.cookie)
	if err != nil {
		return core.Caller{}, core.ErrUnauthenticated
	}
	c, err := p.deps.Authenticator.Authenticate(r.Context(), cookie.Value)
	if err != nil {
		return core.Caller{}, err
	}
	// A machine's token is no browser. Nor is a terminal's session: an agent may be
	// able to read its file, and could allow here what a terminal may not.
	if c.Person == nil || c.Session == "" || c.Surface != core.SurfacePage {
		return core.Caller{}, core.ErrUnauthenticated
	}
	return c, nil
}

// signedIn returns the caller, or answers with the way to sign in (a refusal to a
// POST and to the script) or the error, and reports false.
func (p *Pages) signedIn(w http.ResponseWriter, r *http.Request) (core.Caller, bool) {
	c, err := p.caller(r)
	if err == nil {
		return c, true
	}
	if !errors.Is(err, core.ErrUnauthenticated) {
		p.unavailable(w, r, err)
		return core.Caller{}, false
	}
	base := p.cfg.Links.Base()
	link := base + "/signin?next=" + url.QueryEscape(base+wayBack(r.URL))
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && !part(r) {
		http.Redirect(w, r, link, http.StatusSeeOther)
		return core.Caller{}, false
	}
	text := "Sign in to go on."
	if r.Method == http.MethodPost {
		text = "Nothing was decided by this press. Sign in to go on."
	}
	p.say(w, r, http.StatusUnauthorized, web.Message{
		Frame: p.bare("Sign in", web.StateSignIn), Heading: "Your session has ended", Text: text, SignIn: link,
	})
	return core.Caller{}, false
}

// wayBack is where a sign-in leads back to: the path and the parameters that pages
// have. Whatever else stands in the address is not repeated.
func wayBack(u *url.URL) string {
	given, kept := u.Query(), url.Values{}
	for _, name := range []string{"view", "runtime", "name", "before", "id"} {
		if given.Has(name) && (name != "view" || given.Get(name) == "all") {
			kept.Set(name, given.Get(name))
		}
	}
	if len(kept) == 0 {
		return u.EscapedPath()
	}
	return u.EscapedPath() + "?" + kept.Encode()
}

func (p *Pages) signInForm(w http.ResponseWriter, r *http.Request) {
	c, _ := p.caller(r) // Whoever is signed in already is told before a code replaces them.
	p.askCode(w, r, c, http.StatusOK, web.SignIn{Next: next(r.URL.Query().Get("next"), p.cfg.Links.Base())})
}

// askCode shows the form for a code with what v already says.
func (p *Pages) askCode(w http.ResponseWriter, r *http.Request, c core.Caller, status int, v web.SignIn) {
	first, err := p.deps.NoAdmin(r.Context())
	if err != nil {
		p.unavailable(w, r, err)
		return
	}
	v.Frame, v.First = p.frame(r.Context(), c, "Sign in", web.StateSignIn), first
	startHTML(w, status)
	p.show(r.Context(), p.deps.Renderer.SignIn(w, v))
}

// signIn uses a code. A pairing code first asks whether this browser shall decide
// as its person; only the second post, after a press, uses it (K36).
func (p *Pages) signIn(w http.ResponseWriter, r *http.Request) {
	if !p.readForm(w, r) {
		return
	}
	old, _ := p.caller(r)
	code, onward := strings.TrimSpace(r.PostForm.Get("code")), next(r.PostForm.Get("next"), p.cfg.Links.Base())
	device := people.Device{Kind: core.SessionBrowser, Label: r.UserAgent()}
	first, err := p.deps.NoAdmin(r.Context())
	if err != nil {
		p.unavailable(w, r, err)
		return
	}
	var in people.SignedIn
	switch {
	case first:
		in, err = p.deps.SignIns.RedeemBootstrap(r.Context(), code, r.PostForm.Get("name"), device)
	case r.PostForm.Get("confirm") == "":
		p.confirmPair(w, r, old, code, onward)
		return
	default:
		in, err = p.deps.SignIns.RedeemPair(r.Context(), code, device)
	}
	if err != nil {
		p.codeRefused(w, r, old, web.SignIn{Next: onward, Name: r.PostForm.Get("name")}, err)
		return
	}
	if old.Person != nil { // The replaced session ends; if that fails it still ends by its own time.
		p.show(r.Context(), p.deps.SignIns.SignOut(r.Context(), old))
	}
	p.setCookie(w, in.Bearer.Reveal(), int(core.SessionLife/1000))
	http.Redirect(w, r, onward, http.StatusSeeOther) //nolint:gosec // next kept it on this service.
}

func (p *Pages) confirmPair(w http.ResponseWriter, r *http.Request, old core.Caller, code, onward string) {
	person, err := p.deps.SignIns.PeekPair(r.Context(), code)
	if err != nil {
		p.codeRefused(w, r, old, web.SignIn{Next: onward}, err)
		return
	}
	startHTML(w, http.StatusOK)
	p.show(r.Context(), p.deps.Renderer.SignIn(w, web.SignIn{
		Frame:   p.frame(r.Context(), old, "Sign in", web.StateSignIn),
		Confirm: person.Name, Code: code, Next: onward,
	}))
}

func (p *Pages) codeRefused(w http.ResponseWriter, r *http.Request, old core.Caller, v web.SignIn, err error) {
	var field *core.FieldError
	status := http.StatusForbidden
	switch {
	case errors.As(err, &field):
		status, v.Fault = http.StatusUnprocessableEntity, "The "+field.Field+" "+field.Rule+"."
	case errors.Is(err, core.ErrCodeInvalid), errors.Is(err, core.ErrInvalid), errors.Is(err, core.ErrNotFound):
		v.Fault = presentation.AnswerCodeInvalid
	default:
		p.unavailable(w, r, err)
		return
	}
	p.askCode(w, r, old, status, v)
}

func (p *Pages) signOut(w http.ResponseWriter, r *http.Request) {
	c, err := p.caller(r)
	switch {
	case errors.Is(err, core.ErrUnauthenticated): // It had ended already.
		http.Redirect(w, r, p.cfg.Links.Base()+"/signin", http.StatusSeeOther)
		return
	case err != nil:
		p.unavailable(w, r, err)
		return
	}
	if !p.readForm(w, r) {
		return
	}
	if !p.deps.Forms.Verify(r.PostForm.Get("token"), c.Session, formSignOut, 0) {
		p.say(w, r, http.StatusForbidden, web.Message{
			Frame: p.frame(r.Context(), c, "Sign out", web.StateRefused), Heading: "You are still signed in",
			Text: "This form was out of date. Press Sign out once more.",
		})
		return
	}
	if err := p.deps.SignIns.SignOut(r.Context(), c); err != nil {
		p.unavailable(w, r, err)
		return
	}
	p.setCookie(w, "", -1)
	http.Redirect(w, r, p.cfg.Links.Base()+"/signin", http.StatusSeeOther)
}

// setCookie is lax rather than strict: a card's link comes from a messenger, and
// the first visit must find the session. No GET changes anything.
func (p *Pages) setCookie(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure follows the scheme of the public address.
		Name: p.cookie, Value: value, Path: p.cfg.Links.Base() + "/", MaxAge: maxAge,
		HttpOnly: true, Secure: p.cfg.Secure, SameSite: http.SameSiteLaxMode,
	})
}

// next keeps a redirect on this service: a path below the base, and nothing that a
// browser could read as another host.
func next(path, base string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(path, base+"/") ||
		strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return base + "/"
	}
	return path
}
