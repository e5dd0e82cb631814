//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/saysohq/sayso/core/client"
)

// person is somebody in front of a browser, and the programs of the same house.
type person struct {
	base    string
	browser *http.Client
	session *client.Client // The API as the person.
	machine *client.Client // The API as the runtime that asks and claims.
}

const (
	callTimeout = 12 * time.Second
	patience    = 5 * time.Second
)

// signIn makes Ann the first admin, with the link that a replica told.
func signIn(ctx context.Context, t *town, link, machine string) (*person, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, fmt.Errorf("make browser: %w", err)
	}
	p := &person{base: t.public(), browser: &http.Client{
		Jar: jar, Timeout: callTimeout, Transport: t.front.carrier(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	_, code, _ := strings.Cut(link, "#code=")
	status, _, err := p.call(ctx, http.MethodPost, "/signin", url.Values{"code": {code}, "name": {annName}})
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(p.base)
	if err != nil {
		return nil, fmt.Errorf("read public address: %w", err)
	}
	cookies := jar.Cookies(u)
	if status != http.StatusSeeOther || len(cookies) != 1 {
		return nil, fmt.Errorf("sign in: status %d", status)
	}
	p.session, err = client.New(client.Config{BaseURL: t.front.url(), Bearer: cookies[0].Value, Timeout: callTimeout, Patience: patience})
	if err != nil {
		return nil, err
	}
	p.machine, err = client.New(client.Config{BaseURL: t.front.url(), Bearer: machine, Timeout: callTimeout, Patience: patience})
	return p, err
}

func (p *person) close() {
	p.browser.CloseIdleConnections()
	p.session.Close()
	p.machine.Close()
}

// call is one request of the browser.
func (p *person) call(ctx context.Context, method, path string, form url.Values) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, "", fmt.Errorf("make request: %w", err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", p.base)
	}
	resp, err := p.browser.Do(req)
	if err != nil {
		return 0, "", fmt.Errorf("browse: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, "", fmt.Errorf("browse: %w", err)
	}
	return resp.StatusCode, string(body), nil
}

// hidden finds the hidden fields of a form of the page.
var hidden = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

var errNoForm = errors.New("the page has no form to decide with")

// form reads the page of an approval as the browser does, and returns what a press
// would post.
func (p *person) form(ctx context.Context, id string) (url.Values, error) {
	status, body, err := p.call(ctx, http.MethodGet, "/approve/"+url.PathEscape(id)+"?view=all", nil)
	if err != nil {
		return nil, err
	}
	_, decide, ok := strings.Cut(body, `<form id="decide"`)
	if status != http.StatusOK || !ok {
		return nil, errNoForm
	}
	form := url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(decide, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	return form, nil
}
