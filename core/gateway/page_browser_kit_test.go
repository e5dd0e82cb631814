package gateway_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// How long something may take in a browser on a busy machine, and how often it is
// looked for.
const (
	waitForBrowser = 20 * time.Second
	tickOfBrowser  = 20 * time.Millisecond
)

// browser is a running browser; each tab has cookies and a cache of its own.
type browser struct{ ctx context.Context }

// newBrowser starts a real browser with a profile of its own. A machine without one
// fails the test: what a page does in a browser is shown in a browser.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath("/usr/bin/chromium"), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("headless", true), chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("no-first-run", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("hide-scrollbars", true),
	}
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		cancel()
		stop() // Waits until the process is gone.
	})
	require.NoError(t, chromedp.Do(ctx))
	return &browser{ctx: ctx}
}

// tab is a page in a browser context of its own: no cookies, no cache of others.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu     sync.Mutex
	faults []string // What scripts threw and the policy refused.
}

func newTab(t *testing.T, on *browser, base string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(on.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx))
	ctx, stop := context.WithTimeout(ctx, 90*time.Second)
	b := &tab{t: t, ctx: ctx, base: base}
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.faults = append(b.faults, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if e.Entry.Source == log.EntrySourceSecurity || e.Entry.Source == log.EntrySourceJavascript {
				b.faults = append(b.faults, e.Entry.Text)
			}
		}
	}))
	t.Cleanup(func() {
		stop()
		b.mu.Lock()
		defer b.mu.Unlock()
		require.Empty(t, b.faults, "the page's scripts and its policy agree")
	})
	call(b, log.Enable, cdp.Empty{})
	return b
}

// call sends a command of the protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	res, err := chromedp.Call(b.ctx, command, params)
	require.NoError(b.t, err)
	return res
}

// tab opens a browser as a visitor who has signed in.
func (v *visitor) tab(on *browser, through ...*lossyProxy) *tab {
	v.site.t.Helper()
	base := v.site.url
	if len(through) > 0 {
		base = through[0].url + v.site.base
	}
	b := newTab(v.site.t, on, base)
	u, err := url.Parse(v.site.url + "/")
	require.NoError(v.site.t, err)
	for _, c := range v.client.Jar.Cookies(u) {
		call(b, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: base + "/"})
	}
	return b
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, actions...))
}

func (b *tab) open(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.base+path), chromedp.WaitReady(chromedp.CSS("#main [data-state]")))
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.run(chromedp.Click(chromedp.CSS(selector)))
}

func (b *tab) write(selector, text string) {
	b.t.Helper()
	b.run(chromedp.SendKeys(chromedp.CSS(selector), text))
}

func (b *tab) key(key string, modifiers ...chromedp.Modifier) {
	b.t.Helper()
	b.run(chromedp.KeyEvent(key, chromedp.KeyModifiers(modifiers...)))
}

// eval evaluates an expression of the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err)
	return out
}

// until waits until an expression of the page is true.
func (b *tab) until(expression string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
		return err == nil && ok
	}, waitForBrowser, tickOfBrowser, expression)
}

func (b *tab) untilState(state string) {
	b.t.Helper()
	b.until(`document.querySelector("#main [data-state]")?.dataset.state === "` + state + `"`)
}

func (b *tab) text() string {
	b.t.Helper()
	return eval[string](b, `document.body.innerText`)
}

// lossyProxy stands before the site and loses what it is told to.
type lossyProxy struct {
	url       string
	posts     atomic.Int64
	streams   atomic.Int64
	delayed   atomic.Int64 // Readings that are kept back now.
	noEvents  atomic.Bool  // Answers streams with 502.
	cutBefore atomic.Bool  // Cuts posts before they reach the site.
	cutAfter  atomic.Bool  // Cuts posts after they were recorded.
	down      atomic.Bool  // Cuts everything else.
	ugly      atomic.Bool  // Answers posts with its own error page, after they were recorded.

	mu    sync.Mutex
	hold  chan struct{} // Posts wait for it.
	stale chan struct{} // The answer to the next reading by the script waits for it.
}

func newLossyProxy(t *testing.T, s *site) *lossyProxy {
	t.Helper()
	target, err := url.Parse(strings.TrimSuffix(s.url, s.base))
	require.NoError(t, err)
	transport := &http.Transport{DialContext: (&net.Dialer{}).DialContext}
	forward := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p := &lossyProxy{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stream := strings.HasSuffix(r.URL.Path, "/events")
		if stream {
			p.streams.Add(1)
		}
		switch {
		case p.noEvents.Load() && stream:
			w.WriteHeader(http.StatusBadGateway)
		case r.Method == http.MethodPost:
			p.post(forward, w, r)
		case p.down.Load():
			panic(http.ErrAbortHandler)
		case r.Header.Get("X-Part") != "":
			p.read(forward, w, r)
		default:
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		p.letPosts()
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	p.url = server.URL
	return p
}

func (p *lossyProxy) post(forward http.Handler, w http.ResponseWriter, r *http.Request) {
	p.posts.Add(1)
	p.mu.Lock()
	hold := p.hold
	p.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
	switch {
	case p.cutBefore.Load():
		panic(http.ErrAbortHandler)
	case p.cutAfter.Load():
		forward.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case p.ugly.Load():
		forward.ServeHTTP(httptest.NewRecorder(), r)
		w.WriteHeader(http.StatusGatewayTimeout)
		_, _ = w.Write([]byte("<html><body><h1>504</h1></body></html>"))
	default:
		forward.ServeHTTP(w, r)
	}
}

// delayRead keeps the answer to the next reading by the script, as it is then,
// until the returned function is called.
func (p *lossyProxy) delayRead() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stale := make(chan struct{})
	p.stale = stale
	return func() { close(stale) }
}

func (p *lossyProxy) read(forward http.Handler, w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	stale := p.stale
	p.stale = nil
	p.mu.Unlock()
	if stale == nil {
		forward.ServeHTTP(w, r)
		return
	}
	kept := httptest.NewRecorder()
	forward.ServeHTTP(kept, r)
	p.delayed.Add(1)
	select {
	case <-stale:
	case <-r.Context().Done():
	}
	w.Header().Set("Content-Type", kept.Header().Get("Content-Type"))
	w.WriteHeader(kept.Code)
	_, _ = w.Write(kept.Body.Bytes())
	p.delayed.Add(-1)
}

// letPosts ends the holding.
func (p *lossyProxy) letPosts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold != nil {
		close(p.hold)
		p.hold = nil
	}
}

// holdPosts makes posts wait for letPosts, or for the end of the proxy.
func (p *lossyProxy) holdPosts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = make(chan struct{})
}
