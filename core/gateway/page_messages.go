package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"unicode/utf8"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
	"github.com/saysohq/sayso/presentation/web"
)

// part reports whether the script asks for the inside of the page only.
func part(r *http.Request) bool { return r.Header.Get("X-Part") == "main" }

func startHTML(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
}

// frame is what every page of a caller has.
func (p *Pages) frame(ctx context.Context, c core.Caller, title string, state web.State) web.Frame {
	f := web.Frame{Base: p.cfg.Links.Base(), Title: title, State: state}
	if c.Person != nil {
		f.Person = c.Person.Name
		f.SignOut = p.deps.Forms.Sign(c.Session, formSignOut, 0)
	}
	if now, err := p.deps.Clock.Now(ctx); err == nil { // Without it there is no countdown; the card stands.
		f.NowMillis = now
	}
	return f
}

// show logs what could not be written; the reader sees a broken connection and
// the script offers to try again.
func (p *Pages) show(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		p.deps.Logger.LogAttrs(ctx, slog.LevelError, "page was not written", slog.Any("error", err))
	}
}

// say answers with a page that only says something.
func (p *Pages) say(w http.ResponseWriter, r *http.Request, status int, m web.Message) {
	startHTML(w, status)
	p.show(r.Context(), p.deps.Renderer.Message(w, m, part(r)))
}

// bare is the frame where nobody's session is read: the store may be what failed.
func (p *Pages) bare(title string, state web.State) web.Frame {
	return web.Frame{Base: p.cfg.Links.Base(), Title: title, State: state}
}

// notFound is one answer for what does not exist and what is not the caller's (R155).
func (p *Pages) notFound(w http.ResponseWriter, r *http.Request, c core.Caller) {
	p.say(w, r, http.StatusNotFound, web.Message{
		Frame:   p.frame(r.Context(), c, "Not found", web.StateNotFound),
		Heading: "Nothing here for you",
		Text:    "There is no such question, or it is not yours to see.",
	})
}

// fail answers for an error that left nothing written; nil and written pages pass.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, c core.Caller, err error) {
	switch {
	case err == nil:
	case errors.Is(err, core.ErrNotFound):
		p.notFound(w, r, c)
	case errors.Is(err, core.ErrCorrupt): // Told to admins only; to others it does not exist.
		p.deps.Logger.LogAttrs(r.Context(), slog.LevelError, "page met a damaged record", slog.Any("error", err))
		p.say(w, r, http.StatusInternalServerError, web.Message{
			Frame:   p.frame(r.Context(), c, "Damaged", web.StateDamaged),
			Heading: "This record is damaged",
			Text:    presentation.AnswerDamaged,
		})
	default:
		p.unavailable(w, r, err)
	}
}

// unavailable says that the truth cannot be read now, and nothing else: no card is
// shown from memory. After a press it must not say that nothing happened either:
// the press may have been recorded before the reading failed (R186, R215).
func (p *Pages) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	p.deps.Logger.LogAttrs(r.Context(), slog.LevelError, "page could not read the record", slog.Any("error", err))
	text := "Nothing was changed by looking. Try again in a moment."
	if r.Method == http.MethodPost {
		text = "It is not known whether what you sent was recorded. Do not rely on it: try again in a moment and see what the record says."
	}
	p.say(w, r, http.StatusServiceUnavailable, web.Message{
		Frame: p.bare("Not available", web.StateError), Heading: "The record cannot be read now", Text: text, Retry: true,
	})
}

// foreign refuses a post that another site caused.
func (p *Pages) foreign(w http.ResponseWriter, r *http.Request) {
	p.say(w, r, http.StatusForbidden, web.Message{
		Frame:   p.bare("Refused", web.StateRefused),
		Heading: "This came from another site",
		Text:    "Nothing was decided. Open the question here and answer it yourself.",
	})
}

// unreadable refuses a form that is too large, broken or not text.
func (p *Pages) unreadable(w http.ResponseWriter, r *http.Request) {
	p.say(w, r, http.StatusBadRequest, web.Message{
		Frame:   p.bare("Refused", web.StateRefused),
		Heading: "The form could not be read",
		Text:    "Nothing was decided. Open the question again.",
	})
}

// readForm reads a posted form within its bound; it answers and reports false where
// that fails.
func (p *Pages) readForm(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		p.unreadable(w, r)
		return false
	}
	for _, values := range r.PostForm {
		for _, v := range values {
			if !utf8.ValidString(v) {
				p.unreadable(w, r)
				return false
			}
		}
	}
	return true
}
