package discord

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// SetEndpoint registers the URL that interactions are pushed to, as the developer
// portal does: the gateway then gets none. It is refused unless the URL answers a
// ping and turns a badly signed one away.
func (s *Server) SetEndpoint(url string) error {
	s.mu.Lock()
	before := s.endpoint
	s.endpoint = url
	s.mu.Unlock()
	err := s.Probe()
	if err != nil {
		s.mu.Lock()
		s.endpoint = before
		s.mu.Unlock()
	}
	return err
}

// Probe does what the platform does from time to time: it pings the endpoint, and
// tries it with bad signatures.
func (s *Server) Probe() error {
	ping, _ := json.Marshal(wireInteraction{ID: "1", ApplicationID: s.bot.ID, Type: 1, Token: "ping"}) // Its own structs.
	got, err := s.Push(ping, Signing{})
	if err != nil {
		return err
	}
	if got.Status != http.StatusOK || got.Type != "application/json" || string(bytes.TrimSpace(got.Body)) != `{"type":1}` {
		return fmt.Errorf("the endpoint does not answer a ping: status %d", got.Status)
	}
	for _, bad := range []Signing{{Wrong: true}, {Missing: true}, {Truncated: true}} {
		got, err := s.Push(ping, bad)
		if err != nil {
			return err
		}
		if got.Status != http.StatusUnauthorized {
			return fmt.Errorf("the endpoint takes bad signatures: status %d", got.Status)
		}
	}
	return nil
}

// Signing says how a pushed interaction is signed; the zero value signs it well.
type Signing struct {
	Wrong     bool          // Another body was signed.
	Missing   bool          // No headers.
	Truncated bool          // A signature that is too short.
	Age       time.Duration // How long ago it was signed.
}

// Sign makes the signature of a push.
func (s *Server) Sign(at time.Time, body []byte) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.Unix(), 10)
	return timestamp, hex.EncodeToString(ed25519.Sign(s.key, append([]byte(timestamp), body...)))
}

// Pushed is what the endpoint answered.
type Pushed struct {
	Status int
	Type   string
	Body   []byte
}

// Push sends a body to the endpoint.
func (s *Server) Push(body []byte, how Signing) (Pushed, error) {
	s.mu.Lock()
	url := s.endpoint
	s.mu.Unlock()
	r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Pushed{}, fmt.Errorf("push: %w", err)
	}
	stamp := strconv.FormatInt(s.Clock.Now().Add(-how.Age).Unix(), 10)
	signed := append([]byte(stamp), body...)
	if how.Wrong {
		signed = append(signed, ' ')
	}
	signature := hex.EncodeToString(ed25519.Sign(s.key, signed))
	if how.Truncated {
		signature = signature[:len(signature)-2]
	}
	r.Header.Set("Content-Type", "application/json")
	if !how.Missing {
		r.Header.Set("X-Signature-Ed25519", signature)
		r.Header.Set("X-Signature-Timestamp", stamp)
	}
	resp, err := s.push.Do(r)
	if err != nil {
		return Pushed{}, fmt.Errorf("push: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return Pushed{}, fmt.Errorf("push: %w", err)
	}
	return Pushed{Status: resp.StatusCode, Type: resp.Header.Get("Content-Type"), Body: got}, nil
}
