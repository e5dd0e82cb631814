package gateway

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/people"
	"github.com/saysohq/sayso/presentation/web"
)

// sessionCookie carries the bearer of a browser's session. Over TLS its name
// takes the prefix that binds it to this host.
const sessionCookie = "sayso_session"

// maxForm bounds a posted form in bytes: a note of 1,000 code points, escaped
// three times over, and the tokens.
const maxForm = 64 << 10

// caller is the person of the request's session. Errors: ErrUnauthenticated, or
// what keeps the service from telling.
func (p *Pages) caller(r *http.Request) (core.Caller, error) {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return core.Caller{}, core.ErrUnauthenticated
	}
	c, err := p.deps.Authenticator.Authenticate(r.Context(), cookie.Value)
	if err != nil {
		return core.Caller{}, err
	}
	if c.Person == nil || c.Session == "" { // A machine's token is no browser.
		return core.Caller{}, core.ErrUnauthenticated
	}
	c.Surface = core.SurfacePage
	return c, nil
}

// signedIn returns the caller, or answers with the sign-in page (GET), a refusal
// (POST) or the error, and reports false.
func (p *Pages) signedIn(w http.ResponseWriter, r *http.Request) (core.Caller, bool) {
	c, err := p.caller(r)
	switch {
	case err == nil:
		return c, true
	case !errors.Is(err, core.ErrUnauthenticated):
		p.unavailable(w, r, err)
	case r.Method == http.MethodGet && !part(r):
		http.Redirect(w, r, p.cfg.Links.Base()+"/signin?next="+url.QueryEscape(p.cfg.Links.Base()+r.URL.RequestURI()), http.StatusSeeOther)
	default:
		startHTML(w, http.StatusUnauthorized)
		p.show(r.Context(), p.deps.Renderer.Message(w, web.Message{
			Frame:   web.Frame{Base: p.cfg.Links.Base(), Title: "Sign in", State: web.StateSignIn},
			Heading: "Your session has ended",
			Text:    "Nothing was decided. Sign in and open the question again.",
		}, part(r)))
	}
	return core.Caller{}, false
}

func (p *Pages) signInForm(w http.ResponseWriter, r *http.Request) {
	c, _ := p.caller(r) // Whoever is signed in already is told before a code replaces them.
	p.askCode(w, r, c, http.StatusOK, next(r.URL.Query().Get("next"), p.cfg.Links.Base()), "")
}

func (p *Pages) askCode(w http.ResponseWriter, r *http.Request, c core.Caller, status int, next, fault string) {
	first, err := p.deps.NoAdmin(r.Context())
	if err != nil {
		p.unavailable(w, r, err)
		return
	}
	startHTML(w, status)
	p.show(r.Context(), p.deps.Renderer.SignIn(w, web.SignIn{
		Frame: p.frame(r.Context(), c, "Sign in", web.StateSignIn), First: first, Next: next, Fault: fault,
	}))
}

// signIn uses a code. A pairing code first asks whether this browser shall decide
// as its person; only the second post, after a press, uses it (K36).
func (p *Pages) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be read.", http.StatusBadRequest)
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
		p.codeRefused(w, r, old, onward, err)
		return
	}
	if old.Person != nil { // The replaced session ends; if that fails it still ends by its own time.
		p.show(r.Context(), p.deps.SignIns.SignOut(r.Context(), old))
	}
	p.setCookie(w, in.Bearer.Reveal(), int(core.SessionLife/1000))
	http.Redirect(w, r, onward, http.StatusSeeOther)
}

func (p *Pages) confirmPair(w http.ResponseWriter, r *http.Request, old core.Caller, code, onward string) {
	person, err := p.deps.SignIns.PeekPair(r.Context(), code)
	if err != nil {
		p.codeRefused(w, r, old, onward, err)
		return
	}
	startHTML(w, http.StatusOK)
	p.show(r.Context(), p.deps.Renderer.SignIn(w, web.SignIn{
		Frame:   p.frame(r.Context(), old, "Sign in", web.StateSignIn),
		Confirm: person.Name, Code: code, Next: onward,
	}))
}

func (p *Pages) codeRefused(w http.ResponseWriter, r *http.Request, old core.Caller, onward string, err error) {
	var field *core.FieldError
	switch {
	case errors.As(err, &field):
		p.askCode(w, r, old, http.StatusUnprocessableEntity, onward, "The "+field.Field+" "+field.Rule+".")
	case errors.Is(err, core.ErrCodeInvalid), errors.Is(err, core.ErrInvalid), errors.Is(err, core.ErrNotFound):
		p.askCode(w, r, old, http.StatusForbidden, onward, "This code is not valid any more. Make a new one and try again.")
	default:
		p.unavailable(w, r, err)
	}
}

func (p *Pages) signOut(w http.ResponseWriter, r *http.Request) {
	c, ok := p.signedIn(w, r)
	if !ok {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if !p.deps.Forms.Verify(r.PostFormValue("token"), c.Session, formSignOut, 0) {
		http.Error(w, "This form is out of date. Go back and try again.", http.StatusForbidden)
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
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie, Value: value, Path: p.cfg.Links.Base() + "/", MaxAge: maxAge,
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
