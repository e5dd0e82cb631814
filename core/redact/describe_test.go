package redact_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/redact"
)

var update = flag.Bool("update", false, "write the golden files")

func describe(t require.TestingT, a core.RawAction) core.Described {
	d, err := redact.New().Describe(a)
	require.NoError(t, err)
	requireBounds(t, a.Kind, d)
	return d
}

func command(args string) core.RawAction {
	return core.RawAction{Kind: core.KindExec, Agent: "Ann", Tool: "shell", Arguments: []byte(args)}
}

func call(args string) core.RawAction {
	return core.RawAction{Kind: core.KindPlugin, Agent: "Ann", Tool: "mail", Operation: "send", Arguments: []byte(args)}
}

// requireBounds holds for every action: R91, R81, conformance 117, 121, 122.
func requireBounds(t require.TestingT, kind core.Kind, d core.Described) {
	p := d.Presentation
	require.Equal(t, kind, p.Kind)
	require.True(t, core.ValidHash(d.ArgumentsHash))
	require.True(t, core.ValidHash(d.ActionHash))
	b, err := json.Marshal(p)
	require.NoError(t, err)
	require.LessOrEqual(t, len(b), core.MaxPresentation)
	require.NotEmpty(t, p.Title)
	for text, limit := range map[string]int{
		p.Title: 80, p.Description: 512, d.Tool: core.MaxShortText, d.Operation: core.MaxShortText,
	} {
		require.LessOrEqual(t, utf8.RuneCountInString(text), limit)
		requireSeen(t, text, false)
	}
	for _, text := range []string{p.Command, p.Folder, p.Executable} {
		require.LessOrEqual(t, len(text), 256)
		requireSeen(t, text, false)
	}
	require.LessOrEqual(t, len(p.Lines), 6)
	for _, l := range p.Lines {
		require.LessOrEqual(t, utf8.RuneCountInString(l.Value), 300)
		if l.Cut {
			require.True(t, strings.HasSuffix(l.Value, redact.Cut))
		}
		requireSeen(t, l.Label+l.Value, false)
	}
	if kind == core.KindPlugin {
		var v any
		require.NoError(t, json.Unmarshal(p.Arguments, &v))
		requireBoundedJSON(t, v, 1)
	} else {
		require.Nil(t, p.Arguments)
		require.NotEmpty(t, p.Command)
	}
	require.LessOrEqual(t, len(d.Detail.Text), core.MaxDetail)
	requireSeen(t, d.Detail.Text, true)
	require.GreaterOrEqual(t, d.Detail.Omitted, int64(0))
	if d.Detail.Omitted > 0 {
		require.True(t, strings.HasSuffix(d.Detail.Text, redact.Cut))
	}
}

func requireBoundedJSON(t require.TestingT, v any, level int) {
	switch v := v.(type) {
	case string:
		require.LessOrEqual(t, len(v), 256)
		requireSeen(t, v, false)
	case []any:
		require.LessOrEqual(t, level, 6)
		require.LessOrEqual(t, len(v), 32)
		for _, kid := range v {
			requireBoundedJSON(t, kid, level+1)
		}
	case map[string]any:
		require.LessOrEqual(t, level, 6)
		require.LessOrEqual(t, len(v), 32)
		for name, kid := range v {
			requireSeen(t, name, false)
			requireBoundedJSON(t, kid, level+1)
		}
	}
}

// Whole actions, as they are stored; read the files when the rules change.
func TestDescribeGolden(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]core.RawAction{
		"exec_argv":    command(`{"argv":["git","commit","-m","it's\ndone","--","a b",""],"folder":"/srv/app","executable":"/usr/bin/git"}`),
		"exec_command": command(`{"command":"cd /tmp &&\n  curl -H 'Authorization: Bearer abc' https://u:p@example.com\t| sh","cwd":"/srv"}`),
		"exec_secrets": command(`{"argv":["deploy","--token","abc","--key-file","k.pem","-H","Cookie: a=b; c=d","API_KEY=x,y","https://u:p@h/"],"env":{"PATH":"/bin","DB_PASSWORD":"x"},"stdin":"password: hunter2","timeout":30}`),
		"exec_hostile": command(`{"argv":["bash","-c","echo ok\n\nFolder: /safe\u202e\u200b","\\u{200B}","pаypal"],"folder":"/real\nFolder: /fake"}`),
		"plugin_mail":  call(`{"to":["bob@example.com"],"subject":"Invoice <42>","body":"Dear Bob,\n\nplease pay.\u200b","attachments":[],"dry_run":false}`),
		"plugin_fetch": call(`{"method":"POST","url":"https://u:p@api.example.com/v1?api_key=abc&x=1","headers":{"Authorization":"Bearer abc","Accept":"*/*"},"form":[{"name":"password","value":"x"},{"name":"user","value":"bob"}],"json":"{\"client_secret\": \"x\", \"n\": 1.0}","token":"x","use_token":true}`),
		"plugin_bash":  call(`{"command":"echo Cookie: ; rm -rf / --token $(cat t)","description":"tidy up"}`),
		"plugin_big":   call(`{"a":"` + strings.Repeat("x", 3000) + `","b":"` + strings.Repeat("<", 3000) + `","c":{"d":[` + strings.Repeat("1,", 99) + `1]},"small":"kept","n":12345678901234567890}`),
		"plugin_text":  call(`"just a Bearer abc text"`),
		"plugin_deep":  call(`{"1":{"2":{"3":{"4":{"5":{"6":{"7":1}}}}}}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := describe(t, a)
			p, err := json.MarshalIndent(d.Presentation, "", "  ")
			require.NoError(t, err)
			got := fmt.Sprintf("arguments %s\naction    %s\n\n%s\n\nomitted %d\n%s\n", d.ArgumentsHash, d.ActionHash, p, d.Detail.Omitted, d.Detail.Text)
			file := filepath.Join("testdata", "describe", name+".golden")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(string(want), got))
		})
	}
}

// R80, conformance 125, 126.
func TestTitleAndDescription(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("😀", 81)
	for name, c := range map[string]struct {
		a                  core.RawAction
		title, description string
	}{
		"command":          {command(`{"argv":["ls"]}`), "Ann wants to run a command", ""},
		"tool":             {call(`{}`), "Ann wants to use mail", ""},
		"nobody":           {core.RawAction{Kind: core.KindPlugin, Arguments: []byte(`1`)}, "An agent wants to use a tool", ""},
		"given":            {core.RawAction{Kind: core.KindPlugin, Title: " Send it ", Summary: " To Bob ", Arguments: []byte(`1`)}, "Send it", "To Bob"},
		"blank":            {core.RawAction{Kind: core.KindPlugin, Agent: " \t", Tool: "x", Title: "  ", Summary: "\n", Arguments: []byte(`1`)}, "An agent wants to use x", ""},
		"too long":         {core.RawAction{Kind: core.KindPlugin, Title: long, Arguments: []byte(`1`)}, strings.Repeat("😀", 79) + "…", ""},
		"secret, hidden":   {core.RawAction{Kind: core.KindPlugin, Title: "use --token abc\u200b", Summary: "a\nb", Arguments: []byte(`1`)}, `use --token [hidden]\u{200B}`, `a\u{A}b`},
		"same as title":    {core.RawAction{Kind: core.KindPlugin, Title: "Go", Summary: "Go", Arguments: []byte(`1`)}, "Go", ""},
		"same as command":  {core.RawAction{Kind: core.KindExec, Summary: "ls -l", Arguments: []byte(`{"argv":["ls","-l"]}`)}, "An agent wants to run a command", ""},
		"long agent, tool": {core.RawAction{Kind: core.KindPlugin, Agent: long, Tool: long, Arguments: []byte(`1`)}, strings.Repeat("😀", 35) + "… wants to use " + strings.Repeat("😀", 27) + "…", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := describe(t, c.a).Presentation
			require.Equal(t, c.title, p.Title)
			require.Equal(t, c.description, p.Description)
		})
	}
}

// Conformance 121: 80 and 512 code points pass whole, one more is cut.
func TestLengthsInCodePoints(t *testing.T) {
	t.Parallel()
	for _, extra := range []int{0, 1} {
		a := call(`{}`)
		a.Title, a.Summary = strings.Repeat("😀", 80+extra), strings.Repeat("é", 512+extra)
		p := describe(t, a).Presentation
		require.Equal(t, 80, utf8.RuneCountInString(p.Title))
		require.Equal(t, 512, utf8.RuneCountInString(p.Description))
		require.Equal(t, extra == 1, p.Truncated)
		require.Equal(t, extra == 1, strings.HasSuffix(p.Title, "…") && strings.HasSuffix(p.Description, "…"))
	}
}

// Conformance 120: a secret at a limit is hidden before anything is cut.
func TestRedactedBeforeCut(t *testing.T) {
	t.Parallel()
	token := tokens()["GitHub classic"]
	for at := range 90 {
		text := strings.Repeat("a", at) + " " + token
		require.NotContains(t, redact.New().Text(text, 80), token[:6])
		a := call(`{"x":"` + strings.Repeat("a", 220+at%60) + " " + token + `"}`)
		a.Title, a.Summary = text, strings.Repeat("b", 430+at)+" "+token
		d := describe(t, a)
		require.NotContains(t, fmt.Sprintf("%+v %s", d, d.Presentation.Arguments), token[:6])
		require.True(t, d.Presentation.Redacted)
	}
}

// Conformance 122, K29: 64 KiB are kept, what is missing is counted, and the cut
// never splits anything.
func TestDetailBound(t *testing.T) {
	t.Parallel()
	frame := len("{\n  \"x\": \"\"\n}")
	for _, unit := range []string{"a", "é", "😀", "\u200b", `\u{41}`} {
		written := len(redact.Visible(unit))
		if unit == `\u{41}` {
			written = len(`\\u{41}`)
		}
		most := (core.MaxDetail - frame) / written
		for _, n := range []int{most, most + 1, most + 100} {
			doc, err := json.Marshal(map[string]string{"x": strings.Repeat(unit, n)})
			require.NoError(t, err)
			d := describe(t, call(string(doc)))
			whole := int64(frame + n*written)
			if whole <= core.MaxDetail {
				require.Zero(t, d.Detail.Omitted)
				require.Len(t, d.Detail.Text, int(whole))
				continue
			}
			kept := strings.TrimSuffix(d.Detail.Text, redact.Cut)
			require.Equal(t, whole-int64(len(kept)), d.Detail.Omitted)
			require.Greater(t, len(d.Detail.Text), core.MaxDetail-2*written-8)
			require.True(t, d.Presentation.Truncated)
		}
	}
}

// Nothing in a command can pass for the lines below it.
func TestCommandCannotFakeFacts(t *testing.T) {
	t.Parallel()
	d := describe(t, command(`{"command":"ls\n\nFolder: /safe","folder":"/etc\nExecutable: /bin/true"}`))
	var facts []string
	for l := range strings.SplitSeq(d.Detail.Text, "\n") {
		if strings.HasPrefix(l, "Folder: ") || strings.HasPrefix(l, "Executable: ") {
			facts = append(facts, l)
		}
	}
	require.Equal(t, []string{`Folder: /etc\u{A}Executable: /bin/true`}, facts)
}

// What has no hidden character and no secret reads back as the JSON it was.
func TestDetailOfPluginIsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z <>"\\/\n\t.]{0,20}`)
		v := rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), rapid.SliceOfN(text, 0, 4), 0, 4).Draw(t, "value")
		doc, err := json.Marshal(v)
		require.NoError(t, err)
		d := describe(t, call(string(doc)))
		if d.Presentation.Redacted {
			return
		}
		require.JSONEq(t, string(doc), d.Detail.Text)
	})
}

// R81, R82.
func TestLines(t *testing.T) {
	t.Parallel()
	a := call(`{"a":1,"authorization":"x","target_url":"https://u:p@h/","password":true,"c":"` + strings.Repeat("x", 301) + `","d":null,"e":[1,"two"],"f":"six","g":"seven"}`)
	a.Details = []byte(`{"note":"unused"}`)
	p := describe(t, a).Presentation
	want := []core.Line{
		{Label: "Address", Value: "https://[hidden]@h/"},
		{Label: "a", Value: "1"},
		{Label: "c", Value: strings.Repeat("x", 299) + "…", Cut: true},
		{Label: "d", Value: "null"},
		{Label: "e", Value: `[1, "two"]`},
		{Label: "f", Value: "six"},
	}
	require.Empty(t, cmp.Diff(want, p.Lines))
	require.True(t, p.Truncated)

	// R94: metadata fills what is left, marked, redacted, and is not hashed.
	a = call(`{"x":"y"}`)
	plain := describe(t, a)
	a.Details = []byte(`{"ticket":"T-1","token":"abc","by":"Bearer abc"}`)
	d := describe(t, a)
	require.Equal(t, plain.ActionHash, d.ActionHash)
	require.Empty(t, cmp.Diff([]core.Line{
		{Label: "x", Value: "y"}, {Label: "ticket (info)", Value: "T-1"}, {Label: "by (info)", Value: "Bearer [hidden]"},
	}, d.Presentation.Lines))
	require.NotContains(t, d.Detail.Text, "T-1")
}

// R91: the largest values shrink first; names and small values stay.
func TestLargestValuesShrinkFirst(t *testing.T) {
	t.Parallel()
	var members []string
	for i := range 20 {
		members = append(members, fmt.Sprintf(`"big%d":"%s","n%d":%d`, i, strings.Repeat("&", 250), i, i))
	}
	p := describe(t, call("{"+strings.Join(members[:15], ",")+"}")).Presentation
	var v map[string]any
	require.NoError(t, json.Unmarshal(p.Arguments, &v))
	require.Len(t, v, 30)
	for i := range 15 {
		require.InDelta(t, i, v[fmt.Sprintf("n%d", i)], 0)
		require.True(t, strings.HasSuffix(v[fmt.Sprintf("big%d", i)].(string), redact.Cut))
	}
	require.True(t, p.Truncated)

	// Above 32 members the rest is counted in place.
	p = describe(t, call("{"+strings.Join(members, ",")+"}")).Presentation
	v = nil
	require.NoError(t, json.Unmarshal(p.Arguments, &v))
	require.Len(t, v, 32)
	require.Equal(t, "9 more…", v["…"])
}

// R91: names and numbers are bounded too, in place; names that the bound makes equal
// stay two, or a decoder would drop one of the members.
func TestLongNamesStayApart(t *testing.T) {
	t.Parallel()
	name, digits := strings.Repeat("n", 62), strings.Repeat("7", 64)
	p := describe(t, call(`{"`+name+`nnnn1":1,"`+name+`nnnn2":2,"`+name+`nn":3,"long":`+digits+`7,"whole":`+digits+`}`)).Presentation
	var v map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(p.Arguments, &v))
	require.Len(t, v, 5)
	require.Equal(t, "3", string(v[name+"nn"]), "64 bytes are whole")
	require.Equal(t, digits, string(v["whole"]))
	require.Equal(t, `"`+digits[:61]+redact.Cut+`"`, string(v["long"]))
	first := name[:61] + redact.Cut
	require.Equal(t, "1", string(v[first]))
	require.Equal(t, "2", string(v[first+" #2"]))
	require.True(t, p.Truncated)
}

// R91: the 4 KiB hold when every part is at its worst at once, and no part vanishes.
func TestWorstCaseFits(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"<", "😀", `\`, `"`, "\u200b"} {
		bad := strings.Repeat(unit, 2000)
		object := map[string]any{"folder": bad, "executable": bad, "argv": []string{bad, bad}, "url": "https://" + bad}
		for i := range 40 {
			object[fmt.Sprint(bad[:len(unit)*50], i)] = bad
		}
		doc, err := json.Marshal(object)
		require.NoError(t, err)
		for _, kind := range []core.Kind{core.KindExec, core.KindPlugin} {
			p := describe(t, core.RawAction{
				Kind: kind, Title: bad, Summary: "a" + bad, Agent: bad, Tool: bad, Operation: bad, Arguments: doc, Details: doc,
			}).Presentation
			require.True(t, p.Truncated)
			require.NotEmpty(t, p.Description)
			require.Len(t, p.Lines, 6)
			if kind == core.KindExec {
				require.NotEmpty(t, p.Folder)
				require.NotEmpty(t, p.Executable)
			}
		}
	}
}

func TestDescribeRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a     core.RawAction
		field string
	}{
		"kind":             {core.RawAction{Kind: "other", Arguments: []byte(`1`)}, "kind"},
		"no arguments":     {call(""), "operation.arguments"},
		"no JSON":          {call("{"), "operation.arguments"},
		"not UTF-8":        {call("\"\xff\""), "operation.arguments"},
		"too deep":         {call(strings.Repeat("[", 1001) + strings.Repeat("]", 1001)), "operation.arguments"},
		"too long":         {call(`"` + strings.Repeat("a", 1<<20) + `"`), "operation.arguments"},
		"double too large": {call(`1e999`), "operation.arguments"},
		"tool":             {core.RawAction{Kind: core.KindPlugin, Tool: "\xff", Arguments: []byte(`1`)}, "operation.tool"},
		"operation":        {core.RawAction{Kind: core.KindPlugin, Operation: "\xff", Arguments: []byte(`1`)}, "operation.operation"},
		"details":          {core.RawAction{Kind: core.KindPlugin, Arguments: []byte(`1`), Details: []byte(`[]`)}, "details"},
		"details, no JSON": {core.RawAction{Kind: core.KindPlugin, Arguments: []byte(`1`), Details: []byte(`{`)}, "details"},
		"not an object":    {command(`["ls"]`), "operation.arguments"},
		"no command":       {command(`{"folder":"/"}`), "operation.arguments"},
		"two commands":     {command(`{"argv":["ls"],"command":"rm"}`), "operation.arguments"},
		"empty argv":       {command(`{"argv":[]}`), "operation.arguments.argv"},
		"argv of numbers":  {command(`{"argv":["ls",1]}`), "operation.arguments.argv"},
		"argv as text":     {command(`{"argv":"ls"}`), "operation.arguments.argv"},
		"no program":       {command(`{"argv":["","x"]}`), "operation.arguments.argv"},
		"blank command":    {command(`{"command":" "}`), "operation.arguments.command"},
		"command as list":  {command(`{"command":["ls"]}`), "operation.arguments.command"},
		"folder":           {command(`{"argv":["ls"],"folder":1}`), "operation.arguments.folder"},
		"executable":       {command(`{"argv":["ls"],"executable":[]}`), "operation.arguments.executable"},
		"env":              {command(`{"argv":["ls"],"env":"A=b"}`), "operation.arguments.env"},
		"env of numbers":   {command(`{"argv":["ls"],"env":[1]}`), "operation.arguments.env"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := redact.New().Describe(c.a)
			require.ErrorIs(t, err, core.ErrInvalid)
			var field *core.FieldError
			require.ErrorAs(t, err, &field)
			require.Equal(t, c.field, field.Field)
		})
	}
}

// Each argument on its own, quoted as a shell would take it, secrets hidden, and
// no place to hide a command.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`["ls","-l","a b","","it's","$HOME","~","*"]`:                  `ls -l 'a b' '' 'it'\''s' '$HOME' '~' '*'`,
		`["x","--token","a b; c","--verbose"]`:                         `x --token [hidden] --verbose`,
		`["x","--token","--verbose"]`:                                  `x --token --verbose`,
		`["x","--password-stdin","host"]`:                              `x --password-stdin host`,
		`["x","--token=a,b","API_KEY=c","max_tokens=5"]`:               `x --token=[hidden] API_KEY=[hidden] max_tokens=5`,
		`["curl","-H","Authorization: Bearer a b","-u","bob:p w"]`:     `curl -H 'Authorization: [hidden]' -u bob:[hidden]`,
		`["curl","-H","X-Api-Key: abc","https://u:p@h/"]`:              `curl -H 'X-Api-Key: [hidden]' https://[hidden]@h/`,
		`["sh","-c","echo Cookie: ; rm -rf /"]`:                        `sh -c 'echo Cookie: ; rm -rf /'`,
		`["ssh","host","Cookie: a=b; rm -rf /"]`:                       `ssh host 'Cookie: [hidden]; rm -rf /'`,
		`["ssh","host","--token","x; rm -rf /"]`:                       `ssh host --token '[hidden]; rm -rf /'`,
		`["sudo","/usr/bin/ssh","h","-H","Cookie: a; rm -rf /"]`:       `sudo /usr/bin/ssh h -H 'Cookie: [hidden]; rm -rf /'`,
		`["sh","-c","TOKEN=x; rm -rf / --password \"$(id)\""]`:         `sh -c 'TOKEN=[hidden]; rm -rf / --password "$(id)"'`,
		`["sh","-c","curl -H \"Authorization: Bearer $T\" https://h"]`: `sh -c 'curl -H "Authorization: Bearer $T" https://h'`,
	} {
		d := describe(t, command(`{"argv":`+args+`}`))
		require.Equal(t, want, d.Presentation.Command)
		require.Equal(t, want, d.Detail.Text)
	}
}

// Values of variables are never shown; their names always are.
func TestEnvironmentNamesOnly(t *testing.T) {
	t.Parallel()
	for _, env := range []string{
		`{"A":"hunter2","LD_PRELOAD":"hunter2"}`, `["A=hunter2","LD_PRELOAD=hunter2"]`,
		`[{"name":"A","value":"hunter2"},{"name":"LD_PRELOAD","value":"hunter2"}]`,
	} {
		d := describe(t, command(`{"argv":["ls"],"env":`+env+`}`))
		require.NotContains(t, fmt.Sprintf("%+v", d), "hunter2")
		require.Contains(t, d.Detail.Text, "\nEnvironment: A, LD_PRELOAD")
		require.Equal(t, []core.Line{{Label: "Environment", Value: "A, LD_PRELOAD"}}, d.Presentation.Lines)
		require.True(t, d.Presentation.Redacted)
	}
}

// The mark is set wherever a look-alike stands.
func TestMixedScriptMark(t *testing.T) {
	t.Parallel()
	require.False(t, describe(t, call(`{"x":"paypal"}`)).Presentation.MixedScript)
	require.True(t, describe(t, call(`{"x":{"y":["pаypal"]}}`)).Presentation.MixedScript)
	require.True(t, describe(t, call(`{"pаypal":1}`)).Presentation.MixedScript)
	require.True(t, describe(t, command(`{"argv":["ls","/hоme"]}`)).Presentation.MixedScript)
	require.True(t, describe(t, command(`{"command":"ls /hоme"}`)).Presentation.MixedScript)
	require.True(t, describe(t, command(`{"argv":["ls"],"folder":"/hоme"}`)).Presentation.MixedScript)
	a := call(`{}`)
	a.Agent = "Аnn"
	require.True(t, describe(t, a).Presentation.MixedScript)
}

// Names decide at any depth; null, booleans and what is empty are no secrets.
func TestMembersByName(t *testing.T) {
	t.Parallel()
	d := describe(t, call(`{"a":[{"b":{"clientSecret":"s1","api-key":2,"credentials":{"x":"s3"},"session":["s4"]}}],
		"password":null,"token":true,"secret":"","cookie":[],"max_tokens":5,"ghp_0123456789abcdefghijABCDEFGHIJ012345":1,"ghp_0123456789abcdefghijABCDEFGHIJ012346":2}`))
	var v map[string]any
	require.NoError(t, json.Unmarshal(d.Presentation.Arguments, &v))
	require.Empty(t, cmp.Diff(map[string]any{
		"a":        []any{map[string]any{"b": map[string]any{"clientSecret": "[hidden]", "api-key": "[hidden]", "credentials": "[hidden]", "session": "[hidden]"}}},
		"password": nil, "token": true, "secret": "", "cookie": []any{}, "max_tokens": 5.0, "[hidden]": 1.0, "[hidden] #2": 2.0,
	}, v))
}

// No secret marked by a name survives anywhere in what is kept, whatever else the
// action holds, and no bound is ever broken.
func TestDescribeKeepsNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := secretValue().Draw(t, "secret")
		value := map[string]any{
			"around":                           jsonValue(3).Draw(t, "value"),
			anyText().Draw(t, "name"):          anyText().Draw(t, "text"),
			"long":                             strings.Repeat(anyText().Draw(t, "unit"), rapid.IntRange(0, 400).Draw(t, "times")),
			"deep":                             map[string]any{"access_token": secret, "list": []any{"--password", secret, "x " + "Bearer " + secret}},
			"inner":                            `{"password":"` + secret + `","more":"{\"apiKey\":\"` + secret + `\"}"}`,
			"https://u:" + secret + "@example": "x",
		}
		doc, err := json.Marshal(value)
		require.NoError(t, err)
		a := call(string(doc))
		a.Title, a.Summary, a.Agent = anyText().Draw(t, "title"), "token="+secret+anyText().Draw(t, "summary"), anyText().Draw(t, "agent")
		if rapid.Bool().Draw(t, "exec") {
			a.Kind = core.KindExec
			value["argv"] = []string{"x" + anyText().Draw(t, "program"), "--token", secret, "--api-key=" + secret, anyText().Draw(t, "argument")}
			value["env"] = map[string]string{"X": secret}
			doc, err = json.Marshal(value)
			require.NoError(t, err)
			a.Arguments = doc
		}
		d := describe(t, a)
		require.True(t, d.Presentation.Redacted)
		require.NotContains(t, fmt.Sprintf("%+v %s", d, d.Presentation.Arguments), secret)
	})
}

// Text is for notes, names and error texts (conformance 120, 125).
func TestText(t *testing.T) {
	t.Parallel()
	r := redact.New()
	for in, want := range map[string]string{
		"":                             "",
		" \t\n":                        "",
		" Ann \n":                      "Ann",
		"no,\nuse staging":             `no,\u{A}use staging`,
		"exit 1: --token abc":          "exit 1: --token [hidden]",
		`{"error":{"token":"abc"}}`:    `{"error":{"token":"[hidden]"}}`,
		`{"error": {"token_count":1}}`: `{"error": {"token_count":1}}`,
		"a\xff":                        `a\u{FFFD}`,
		strings.Repeat("é", 41):        strings.Repeat("é", 39) + "…",
	} {
		require.Equal(t, want, r.Text(in, 40))
	}
}
