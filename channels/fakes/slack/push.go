package slack

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Sign makes the signature of a push.
func Sign(secret string, at time.Time, body []byte) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + timestamp + ":"))
	mac.Write(body)
	return timestamp, "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// bodyOf is a payload in the form of its kind.
func bodyOf(kind string, payload any) (contentType string, body []byte) {
	raw, _ := json.Marshal(payload) // Maps of strings and numbers.
	switch kind {
	case "events_api":
		return "application/json", raw
	case "slash_commands":
		form := url.Values{}
		fields, _ := payload.(map[string]any)
		for k, v := range fields {
			text, _ := v.(string)
			form.Set(k, text)
		}
		return "application/x-www-form-urlencoded", []byte(form.Encode())
	}
	return "application/x-www-form-urlencoded", []byte(url.Values{"payload": {string(raw)}}.Encode())
}

// pushTo posts a payload. Interactions are never repeated, events once at once.
func (s *Server) pushTo(target string, e *envelope) {
	ctx, cancel := context.WithTimeout(s.ctx, ackTime)
	defer cancel()
	kind, body := bodyOf(e.kind, e.payload)
	sent := s.Clock.Now()
	timestamp, signature := Sign(Secret, sent, body)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		s.Violations.Add("push: %v", err)
		return
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("X-Slack-Request-Timestamp", timestamp)
	r.Header.Set("X-Slack-Signature", signature)
	resp, err := s.client.Do(r)
	good := false
	var answered []byte
	if err == nil {
		answered, _ = io.ReadAll(io.LimitReader(resp.Body, maxBody))
		_ = resp.Body.Close()
		good = resp.StatusCode == http.StatusOK
	}
	defer s.signal.Notify()
	if e.interaction == nil {
		if !good && e.attempt == 0 {
			e.attempt++
			s.pushTo(target, e)
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !good {
		e.interaction.failed = true
		return
	}
	if len(strings.TrimSpace(string(answered))) > 0 && !json.Valid(answered) {
		s.Violations.Add("push: a body that is neither empty nor JSON")
	}
	s.acked(e.interaction, sent, answered)
}
