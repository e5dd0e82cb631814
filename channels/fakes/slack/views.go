package slack

import (
	"encoding/json"
	"strings"
)

// view is a dialog.
type view struct {
	id          string
	user        string
	interaction *interaction
	updates     int
	closed      bool
	shown       dialog
}

// dialog is what a view shows, as the app sends it.
type dialog struct {
	Type            string   `json:"type"`
	Title           *textAny `json:"title"`
	Submit          *textAny `json:"submit,omitempty"`
	Close           *textAny `json:"close,omitempty"`
	Blocks          []block  `json:"blocks"`
	PrivateMetadata string   `json:"private_metadata,omitempty"`
	CallbackID      string   `json:"callback_id,omitempty"`
	ExternalID      string   `json:"external_id,omitempty"`
}

// input finds the block that takes text.
func (d *dialog) input() *block {
	for i := range d.Blocks {
		if d.Blocks[i].Type == "input" {
			return &d.Blocks[i]
		}
	}
	return nil
}

// readView checks a dialog. The second result is the error's name.
func (s *Server) readView(q *request) (dialog, string) {
	var d dialog
	if err := json.Unmarshal([]byte(q.args["view"]), &d); err != nil {
		s.Violations.Add("%s: view: %v", q.method, err)
		return d, "invalid_arguments"
	}
	wrong := append(s.specs.view(q.args["view"]), checkBlocks(d.Blocks, maxViewBlocks)...)
	bad := func(what string, _ ...any) { wrong = append(wrong, what) }
	for _, t := range []*textAny{d.Title, d.Submit, d.Close} {
		if t != nil {
			checkPlain(bad, t)
			checkText(bad, t, maxTitle)
		}
	}
	switch {
	case d.Type != "modal", d.Title == nil:
		bad("no modal with a title")
	case d.input() != nil && d.Submit == nil:
		bad("an input without a submit button")
	case units(d.PrivateMetadata) > maxMetadata:
		bad("metadata that is too long")
	case units(d.CallbackID) > maxID:
		bad("a callback id that is too long")
	}
	if len(wrong) > 0 {
		s.Violations.Add("%s: view: %s", q.method, strings.Join(wrong, "; "))
		return d, "invalid_arguments"
	}
	return d, ""
}

func (s *Server) viewsOpen(q *request) (answer, string) {
	t := s.triggers[q.args["trigger_id"]]
	switch {
	case t == nil:
		return nil, "invalid_trigger_id"
	case t.used:
		return nil, "exchanged_trigger_id"
	case s.Clock.Now().Sub(t.made) > triggerLife:
		return nil, "expired_trigger_id"
	}
	d, refused := s.readView(q)
	if refused != "" {
		return nil, refused
	}
	t.used = true
	v := &view{id: s.id("V"), user: t.user, interaction: t.interaction, shown: d}
	t.interaction.view = v
	s.views[v.id] = v
	return answer{"view": s.wireView(v)}, ""
}

func (s *Server) viewsUpdate(q *request) (answer, string) {
	v := s.views[q.args["view_id"]]
	if v == nil || v.closed {
		return nil, "not_found"
	}
	d, refused := s.readView(q)
	if refused != "" {
		return nil, refused
	}
	v.shown = d
	v.updates++
	return answer{"view": s.wireView(v)}, ""
}

func (s *Server) wireView(v *view) map[string]any {
	w := map[string]any{
		"id": v.id, "team_id": Team, "type": "modal", "app_id": App, "bot_id": BotID, "hash": "hash" + v.id,
		"callback_id": v.shown.CallbackID, "private_metadata": v.shown.PrivateMetadata,
		"title": v.shown.Title, "blocks": v.shown.Blocks, "root_view_id": v.id,
		"state": map[string]any{"values": map[string]any{}},
	}
	return w
}
