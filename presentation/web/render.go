package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"time"

	"github.com/saysohq/sayso/core"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed assets
var assets embed.FS

// Assets are the files below {base}/assets/.
func Assets() fs.FS {
	sub, err := fs.Sub(assets, "assets")
	if err != nil { // The folder is part of the binary.
		panic("web: " + err.Error())
	}
	return sub
}

// Renderer lays the pages out. It is safe for concurrent use.
type Renderer struct {
	pages   map[string]*template.Template
	version string
}

// Version names the assets of this binary, as the pages do after "?v=".
func (r *Renderer) Version() string { return r.version }

// pageNames are the templates that fill the layout.
var pageNames = []string{"approval", "inbox", "signin", "message", "agents", "agent", "rules", "unattended"}

// New parses the templates. Errors mean that the binary is broken.
func New() (*Renderer, error) {
	version, err := assetVersion()
	if err != nil {
		return nil, err
	}
	funcs := template.FuncMap{
		"asset": func(base, name string) string { return base + "/assets/" + name + "?v=" + version },
		"iso":   func(m core.Millis) string { return m.Time().Format(time.RFC3339) },
	}
	r := &Renderer{pages: map[string]*template.Template{}, version: version}
	for _, name := range pageNames {
		t, err := template.New("layout.html").Funcs(funcs).ParseFS(templates, "templates/layout.html", "templates/parts.html", "templates/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("parse page %s: %w", name, err)
		}
		r.pages[name] = t
	}
	return r, nil
}

// assetVersion changes whenever an asset does, so that a new binary is never seen
// with old styles.
func assetVersion() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(assets, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := assets.ReadFile(path)
		h.Write(b)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read assets: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

// Approval writes the page of one approval; part leaves out the frame around it.
func (r *Renderer) Approval(w io.Writer, v Approval, part bool) error {
	return r.render(w, "approval", v, part)
}

// Inbox writes the list; part leaves out the frame around it.
func (r *Renderer) Inbox(w io.Writer, v Inbox, part bool) error { return r.render(w, "inbox", v, part) }

// Agents writes the list of agents.
func (r *Renderer) Agents(w io.Writer, v Agents, part bool) error {
	return r.render(w, "agents", v, part)
}

// Agent writes the page of one agent.
func (r *Renderer) Agent(w io.Writer, v Agent, part bool) error { return r.render(w, "agent", v, part) }

// Rules writes the list of what is allowed without asking.
func (r *Renderer) Rules(w io.Writer, v Rules, part bool) error { return r.render(w, "rules", v, part) }

// Unattended writes the list of what ran without asking.
func (r *Renderer) Unattended(w io.Writer, v Unattended, part bool) error {
	return r.render(w, "unattended", v, part)
}

// SignIn writes the sign-in page.
func (r *Renderer) SignIn(w io.Writer, v SignIn) error { return r.render(w, "signin", v, false) }

// Message writes a page that only says something.
func (r *Renderer) Message(w io.Writer, v Message, part bool) error {
	return r.render(w, "message", v, part)
}

// render writes nothing when a template fails half-way: half a page could show a
// card without its outcome.
func (r *Renderer) render(w io.Writer, page string, v any, part bool) error {
	name := "layout.html"
	if part {
		name = "main"
	}
	var b bytes.Buffer
	if err := r.pages[page].ExecuteTemplate(&b, name, v); err != nil {
		return fmt.Errorf("render page %s: %w", page, err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write page %s: %w", page, err)
	}
	return nil
}
