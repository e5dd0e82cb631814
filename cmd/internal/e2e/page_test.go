//go:build unix

package e2e_test

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"

	"github.com/stretchr/testify/require"
)

// reader is a browser without a script: what the page does there it does for
// everybody.
type reader struct {
	w    *world
	http *http.Client
}

func (w *world) reader() *reader {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(w.t, err)
	c := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	return &reader{w: w, http: c}
}

func (r *reader) do(method, path string, form url.Values) (int, string) {
	r.w.t.Helper()
	req, err := http.NewRequestWithContext(r.w.ctx, method, r.w.url+path, strings.NewReader(form.Encode()))
	require.NoError(r.w.t, err)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", r.w.url)
	}
	resp, err := r.http.Do(req)
	require.NoError(r.w.t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(r.w.t, err)
	return resp.StatusCode, html.UnescapeString(string(body))
}

func (r *reader) get(path string) string {
	r.w.t.Helper()
	status, body := r.do(http.MethodGet, path, nil)
	require.Equal(r.w.t, http.StatusOK, status, body)
	return body
}

func (r *reader) post(path string, form url.Values) (int, string) {
	r.w.t.Helper()
	return r.do(http.MethodPost, path, form)
}

var hidden = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`)

// decide answers on the page.
func (r *reader) decide(id, decision string) string {
	r.w.t.Helper()
	return r.submit(id, r.form(id, decision))
}

// form opens the page and fills in an answer, with everything that the page put into
// its form.
func (r *reader) form(id, decision string) url.Values {
	r.w.t.Helper()
	page := r.get("/approve/" + id)
	start := strings.Index(page, `id="decide"`)
	require.Positive(r.w.t, start, page)
	form := url.Values{"decision": {decision}}
	for _, field := range hidden.FindAllStringSubmatch(page[start:], -1) {
		form.Set(field[1], field[2])
	}
	return form
}

// submit sends a form that was filled in.
func (r *reader) submit(id string, form url.Values) string {
	r.w.t.Helper()
	status, answer := r.post("/approve/"+id, form)
	require.Equal(r.w.t, http.StatusOK, status, answer)
	return answer
}
