package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// The kinds of payload, as Socket Mode names them.
const (
	kindInteractive = "interactive"
	kindCommand     = "slash_commands"
	kindEvent       = "events_api"
)

// payload is one thing that a person did, read from what the platform sent. The
// library's types would do for most of it, but they refuse a whole click for one block
// of the message that they cannot decode. At most one of the pointers is set; none is
// for what does not concern us.
type payload struct {
	team    string // Workspace that it comes from.
	app     string
	user    account
	click   *click
	dialog  *dialog
	command *command
	said    *said
}

// account is who did it, as the platform says.
type account struct {
	id   string
	team string
	name string
}

type click struct {
	action    string // Action id.
	value     string
	trigger   string
	response  string // Response URL.
	channel   string
	ts        string
	thread    string
	ephemeral bool
	sender    sender
	payloads  []string // Values of the buttons of the clicked message.
}

// sender is who sent a message.
type sender struct {
	User string `json:"user"`
	Bot  string `json:"bot_id"`
	App  string `json:"app_id"`
}

type dialog struct {
	id       string // Of the view.
	metadata string
	text     string
	found    bool // It has our input.
}

type command struct {
	channel  string
	text     string
	trigger  string
	response string
}

type said struct {
	channel string
	ts      string
	thread  string
	text    string
	// attached tells that a file came with it.
	attached bool
}

var errUnreadable = errors.New("the payload is not in the platform's form")

// read decodes a payload of a kind.
func read(kind string, raw []byte) (payload, error) {
	var p payload
	var err error
	switch kind {
	case kindInteractive:
		p, err = readInteraction(raw)
	case kindCommand:
		p, err = readCommand(raw)
	case kindEvent:
		p, err = readEvent(raw)
	default:
		err = errUnreadable
	}
	if err != nil {
		return payload{}, err
	}
	if p.user.team == "" {
		p.user.team = p.team
	}
	return p, nil
}

type wireInteraction struct {
	Type string `json:"type"`
	Team struct {
		ID string `json:"id"`
	} `json:"team"`
	User struct {
		ID       string `json:"id"`
		Team     string `json:"team_id"`
		Name     string `json:"name"`
		Username string `json:"username"`
	} `json:"user"`
	App       string `json:"api_app_id"`
	Trigger   string `json:"trigger_id"`
	Response  string `json:"response_url"`
	Container struct {
		Channel   string `json:"channel_id"`
		TS        string `json:"message_ts"`
		Thread    string `json:"thread_ts"`
		Ephemeral bool   `json:"is_ephemeral"`
	} `json:"container"`
	Actions []struct {
		ID    string `json:"action_id"`
		Value string `json:"value"`
	} `json:"actions"`
	Message struct {
		sender
		Thread string          `json:"thread_ts"`
		Blocks json.RawMessage `json:"blocks"`
	} `json:"message"`
	View struct {
		ID       string `json:"id"`
		Callback string `json:"callback_id"`
		Metadata string `json:"private_metadata"`
		State    struct {
			Values map[string]map[string]struct {
				Value string `json:"value"`
			} `json:"values"`
		} `json:"state"`
	} `json:"view"`
}

func readInteraction(raw []byte) (payload, error) {
	var w wireInteraction
	if err := json.Unmarshal(raw, &w); err != nil {
		return payload{}, fmt.Errorf("%w: %T", errUnreadable, err) // Its text may repeat content.
	}
	p := payload{team: w.Team.ID, app: w.App, user: account{id: w.User.ID, team: w.User.Team, name: firstOf(w.User.Username, w.User.Name)}}
	if p.team == "" {
		p.team = w.User.Team // Installed for a whole organisation.
	}
	switch {
	case w.User.ID == "" || w.Type == "":
		return payload{}, errUnreadable
	case w.Type == "block_actions" && len(w.Actions) > 0:
		p.click = &click{
			action: w.Actions[0].ID, value: w.Actions[0].Value, trigger: w.Trigger, response: w.Response,
			channel: w.Container.Channel, ts: w.Container.TS, thread: firstOf(w.Container.Thread, w.Message.Thread),
			ephemeral: w.Container.Ephemeral, sender: w.Message.sender, payloads: valuesOf(w.Message.Blocks),
		}
		if p.click.thread == p.click.ts {
			p.click.thread = "" // The root of a thread stands in the channel.
		}
	case w.Type == "view_submission" && w.View.Callback == dialogID:
		field, found := w.View.State.Values[dialogBlock][dialogInput]
		p.dialog = &dialog{id: w.View.ID, metadata: w.View.Metadata, text: field.Value, found: found}
	}
	return p, nil
}

// valuesOf collects the values of all buttons in blocks that may hold anything.
func valuesOf(raw json.RawMessage) []string {
	var blocks []struct {
		Elements []struct {
			Type  string `json:"type"`
			Value string `json:"value"`
		} `json:"elements"`
	}
	var each []json.RawMessage
	if json.Unmarshal(raw, &each) != nil {
		return nil
	}
	var list []string
	for _, one := range each {
		blocks = blocks[:0]
		if json.Unmarshal([]byte("["+string(one)+"]"), &blocks) != nil {
			continue // A block of another kind.
		}
		for _, e := range blocks[0].Elements {
			if e.Type == "button" && e.Value != "" {
				list = append(list, e.Value)
			}
		}
	}
	return list
}

func readCommand(raw []byte) (payload, error) {
	var w struct {
		Team     string `json:"team_id"`
		App      string `json:"api_app_id"`
		User     string `json:"user_id"`
		Name     string `json:"user_name"`
		Channel  string `json:"channel_id"`
		Text     string `json:"text"`
		Trigger  string `json:"trigger_id"`
		Response string `json:"response_url"`
	}
	if err := json.Unmarshal(raw, &w); err != nil || w.User == "" {
		return payload{}, errUnreadable
	}
	return payload{
		team: w.Team, app: w.App, user: account{id: w.User, name: w.Name},
		command: &command{channel: w.Channel, text: w.Text, trigger: w.Trigger, response: w.Response},
	}, nil
}

// commandForm brings a pushed command, which is a form, into the form of Socket Mode.
func commandForm(form url.Values) ([]byte, error) {
	fields := map[string]string{}
	for k := range form {
		fields[k] = form.Get(k)
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode command: %w", err)
	}
	return raw, nil
}

func readEvent(raw []byte) (payload, error) {
	var w struct {
		Type  string `json:"type"`
		Team  string `json:"team_id"`
		App   string `json:"api_app_id"`
		Event struct {
			Type     string `json:"type"`
			Subtype  string `json:"subtype"`
			Kind     string `json:"channel_type"`
			Channel  string `json:"channel"`
			User     string `json:"user"`
			Team     string `json:"team"`
			UserTeam string `json:"user_team"`
			Bot      string `json:"bot_id"`
			Text     string `json:"text"`
			TS       string `json:"ts"`
			Thread   string `json:"thread_ts"`
			Files    []any  `json:"files"`
		} `json:"event"`
	}
	if err := json.Unmarshal(raw, &w); err != nil || w.Type != "event_callback" {
		return payload{}, errUnreadable
	}
	e := w.Event
	p := payload{team: w.Team, app: w.App, user: account{id: e.User, team: firstOf(e.UserTeam, e.Team)}}
	// Bots, ours among them, are left alone, or two of them would talk for ever; so are
	// edits, deletions and whatever else is told as a message with a subtype.
	talk := e.Subtype == "" || e.Subtype == "file_share" || e.Subtype == "thread_broadcast"
	if e.Type == "message" && e.Kind == "im" && talk && e.Bot == "" && e.User != "" && strings.TrimSpace(e.Text) != "" {
		p.said = &said{
			channel: e.Channel, ts: e.TS, thread: e.Thread, text: unescape(e.Text),
			attached: e.Subtype == "file_share" || len(e.Files) > 0,
		}
	}
	return p, nil
}
