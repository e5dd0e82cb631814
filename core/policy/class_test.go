package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// R35: four classes in order; an unknown one is the strictest.
func TestLadderR35(t *testing.T) {
	t.Parallel()
	ladder := []core.Class{core.ClassRead, core.ClassWrite, core.ClassSend, core.ClassMoney}
	for i, a := range ladder {
		for j, b := range ladder {
			require.Equal(t, ladder[max(i, j)], policy.Strictest(a, b))
		}
		require.Equal(t, core.ClassMoney, policy.Strictest(a, "unheard-of"))
	}
}

// R43, R44, R45, R46, R47: what the starter says of tools that people know.
func TestStarterClasses(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	for _, c := range []struct {
		tool, operation, arguments string
		want                       core.Class
	}{
		{"Read", "", `{"file_path":"/etc/hosts"}`, core.ClassRead},
		{"Grep", "", `{"pattern":"x"}`, core.ClassRead},
		{"TodoWrite", "", `{"todos":[]}`, core.ClassRead},
		{"Task", "", `{"prompt":"look around"}`, core.ClassRead}, // R46
		{"Edit", "", `{"file_path":"a"}`, core.ClassWrite},
		{"apply_patch", "", `{"input":"*** Begin Patch\n*** Update File: a\n"}`, core.ClassWrite},
		{"apply_patch", "", `{"input":"*** Begin Patch\n*** Delete File: a\n"}`, core.ClassMoney}, // R45
		{"apply_patch", "", `{"command":["apply_patch","*** Delete File: a"]}`, core.ClassMoney},
		{"str_replace_based_edit_tool", "", `{"command":"view","path":"a"}`, core.ClassRead},
		{"str_replace_based_edit_tool", "", `{"command":"create","path":"a"}`, core.ClassWrite},
		{"str_replace_based_edit_tool", "", `{"path":"a"}`, core.ClassSend}, // R37: unset, and the table knows no default.
		{"Bash", "", `{"command":"ls"}`, core.ClassSend},                    // R44
		{"Bash", "", `{"command":"rm -rf build"}`, core.ClassMoney},
		{"Bash", "", `{"command":"cd build && /bin/rm a"}`, core.ClassMoney},
		{"Bash", "", `{"command":"kubectl -n x delete pod a"}`, core.ClassMoney},
		{"Bash", "", `{"command":"kubectl get pods"}`, core.ClassSend},
		{"shell", "", `{"command":["bash","-lc","terraform destroy -auto-approve"]}`, core.ClassMoney},
		{"shell", "", `{"command":["find",".","-delete"]}`, core.ClassMoney},
		{"Bash", "", `{"command":"echo farm alarm"}`, core.ClassSend}, // No word is found inside another.
		{"python", "", `{"code":"print(1)"}`, core.ClassSend},
		{"WebSearch", "", `{"query":"x"}`, core.ClassRead}, // R43
		{"WebFetch", "", `{"url":"https://example.com"}`, core.ClassSend},
		{"http", "", `{"url":"https://example.com"}`, core.ClassSend}, // R37: the tool's own default is GET.
		{"http", "", `{"method":"get","url":"https://example.com"}`, core.ClassSend},
		{"http", "", `{"method":"DELETE","url":"https://example.com"}`, core.ClassMoney},
		{"http", "", `{"method":"delete","url":"https://example.com"}`, core.ClassMoney},
		{"http", "", `{"method":"BREW"}`, core.ClassSend}, // R37: an unlisted value.
		{"http", "", `{"method":"POST","headers":{"x-http-method-override":"DELETE"}}`, core.ClassMoney},
		{"mail", "search", `{}`, core.ClassRead},
		{"mail", "draft", `{}`, core.ClassWrite},
		{"mail", "send", `{"to":"a@example.com"}`, core.ClassSend},
		{"mail", "flag", `{}`, core.ClassMoney}, // R45: can mark it as deleted.
		{"mail", "purge_everything", `{}`, core.ClassMoney},
		{"calendar", "create", `{}`, core.ClassSend},
		{"create_event", "", `{"title":"focus"}`, core.ClassWrite}, // R40
		{"create_event", "", `{"title":"focus","attendees":[]}`, core.ClassWrite},
		{"create_event", "", `{"title":"focus","attendees":["a@example.com"]}`, core.ClassSend},
		{"slack", "post", `{"channel":"#ops"}`, core.ClassSend},
		{"deploy", "", `{}`, core.ClassSend},
		{"kubectl", "", `{"args":["get"]}`, core.ClassMoney}, // R42: passed through as it is.
		{"execute_sql", "", `{"sql":"select 1"}`, core.ClassMoney},
		{"create_refund", "", `{}`, core.ClassMoney},
		{"mcp__github__create_issue", "", `{}`, core.ClassSend},
		{"mcp__stripe__create_refund", "", `{}`, core.ClassMoney}, // Nobody declared the server; the profile still warns.
		{"mcp__billing__make_payment", "", `{}`, core.ClassMoney},
		{"anything_new", "", `{}`, core.ClassSend},      // R37
		{"deleteEverything", "", `{}`, core.ClassMoney}, // R45
		{"makeHTTPPayment", "", `{}`, core.ClassMoney},
		{"delete2", "", `{}`, core.ClassMoney},
		{"undeleted", "", `{}`, core.ClassSend},              // A word inside another is none.
		{"Delete-File", "", `{"path":"a"}`, core.ClassMoney}, // Another spelling of a listed tool.
		{"READ", "", `{}`, core.ClassSend},                   // Another spelling never makes milder.
	} {
		name := strings.TrimSuffix(fmt.Sprintf("%s/%s/%s", c.tool, c.operation, c.arguments), "/")
		require.Equal(t, c.want, classOf(p, operation(c.tool, c.operation, c.arguments)), name)
	}
}

// R36, R37, R38: by the value of a field; a list by its strictest member; what is
// spelled in two ways by the strictest that it may mean.
func TestMappedToolsR36(t *testing.T) {
	t.Parallel()
	p := bare(t, policy.Table{Tools: []policy.Tool{{
		Names: []string{"crm"},
		By: &policy.Mapping{Field: "request.action", Default: "list", Values: map[core.Class][]string{
			core.ClassRead: {"list", "7", "true"}, core.ClassWrite: {"note"}, core.ClassSend: {"mail"}, core.ClassMoney: {"wipe"},
		}},
	}}})
	for arguments, want := range map[string]core.Class{
		`{"request":{"action":"list"}}`:                                     core.ClassRead,
		`{"request":{"action":"note"}}`:                                     core.ClassWrite,
		`{"request":{"action":"wipe"}}`:                                     core.ClassMoney,
		`{"request":{"action":7}}`:                                          core.ClassRead,
		`{"request":{"action":"7"}}`:                                        core.ClassSend, // A text is no number.
		`{"request":{"action":"true"}}`:                                     core.ClassSend,
		`{"request":{"action":true}}`:                                       core.ClassRead,
		`{"request":{}}`:                                                    core.ClassRead, // Unset: the tool's default.
		`{"request":{"action":null}}`:                                       core.ClassRead,
		`{}`:                                                                core.ClassRead,
		`{"request":{"action":[]}}`:                                         core.ClassRead,
		`{"request":{"action":["list","note"]}}`:                            core.ClassWrite, // R38
		`{"request":{"action":["list",["wipe"]]}}`:                          core.ClassMoney,
		`{"request":[{"action":"list"},{"action":"mail"}]}`:                 core.ClassSend,
		`{"request":{"action":"unknown"}}`:                                  core.ClassSend,
		`{"request":{"action":"Wipe"}}`:                                     core.ClassMoney, // Close to something stricter.
		`{"request":{"action":"LIST"}}`:                                     core.ClassSend,  // Close to something milder.
		`{"request":{"act\u0069on":"wipe"}}`:                                core.ClassMoney, // Escapes are read.
		`{"request":{"action":"\u0077ipe"}}`:                                core.ClassMoney,
		`{"request":{"action":{"list":1}}}`:                                 core.ClassMoney, // No plain value.
		`{"request":"list"}`:                                                core.ClassMoney,
		`{"request":{"action":"list","action":"list"}}`:                     core.ClassMoney, // Said twice: readers differ.
		`{"request":{"action":"list","Action":"wipe"}}`:                     core.ClassMoney,
		`{"request":{"Action":"list"}}`:                                     core.ClassMoney,
		`{"action":"list","request":{"action":"mail"}}`:                     core.ClassSend,
		`{"request":{"action":["` + strings.Repeat(`list","`, 200) + `"]}}`: core.ClassMoney, // Too many to look at.
	} {
		require.Equal(t, want, classOf(p, call("crm", arguments)), arguments)
	}
}

// R37, R39, R60: an operation that a request names beside its arguments can make the call
// stricter and never milder.
func TestOperationBesideArguments(t *testing.T) {
	t.Parallel()
	p := bare(t, policy.Table{Tools: []policy.Tool{{
		Names: []string{"crm"},
		By: &policy.Mapping{Field: "action", Values: map[core.Class][]string{
			core.ClassRead: {"list"}, core.ClassMoney: {"wipe"},
		}},
	}}})
	require.Equal(t, core.ClassMoney, classOf(p, operation("crm", "list", `{"action":"wipe"}`)))
	require.Equal(t, core.ClassMoney, classOf(p, operation("crm", "wipe", `{"action":"list"}`)))
	require.Equal(t, core.ClassRead, classOf(p, operation("crm", "whatever", `{"action":"list"}`)))
}

// R40: only certainty that nobody is reached lowers, only from send to write; R60: a
// flag that no table names is nothing.
func TestReachesNoOneR40(t *testing.T) {
	t.Parallel()
	quiet := []policy.Predicate{
		{{Field: "guests", Empty: true}, {Field: "notify", Is: []string{"false"}}},
		{{Field: "to", Domains: []string{"example.com"}}},
	}
	p := bare(t, policy.Table{Tools: []policy.Tool{
		{Names: []string{"post"}, Class: core.ClassSend, ReachesNoOne: quiet},
		{Names: []string{"pay"}, Class: core.ClassMoney, ReachesNoOne: quiet},
	}})
	for arguments, want := range map[string]core.Class{
		`{"notify":false}`:                              core.ClassWrite,
		`{"notify":false,"guests":[]}`:                  core.ClassWrite,
		`{"notify":false,"guests":[""]}`:                core.ClassWrite,
		`{"notify":false,"guests":["a"]}`:               core.ClassSend,
		`{"notify":false,"guests":["a"],"Guests":[]}`:   core.ClassSend,
		`{"notify":false,"guests":[{}]}`:                core.ClassSend,
		`{"notify":"false"}`:                            core.ClassSend, // Many a tool takes this for true.
		`{"notify":true}`:                               core.ClassSend,
		`{}`:                                            core.ClassSend,
		`{"reaches_no_one":true}`:                       core.ClassSend,
		`{"to":"Ann <ann@EXAMPLE.com>"}`:                core.ClassWrite,
		`{"to":["ann@example.com","bob@example.com."]}`: core.ClassWrite,
		`{"to":["ann@example.com","bob@example.org"]}`:  core.ClassSend,
		`{"to":"ann@example.com, eve@evil.example"}`:    core.ClassSend,
		`{"to":"ann@example.com@evil.example"}`:         core.ClassSend,
	} {
		require.Equal(t, want, classOf(p, call("post", arguments)), arguments)
		require.Equal(t, core.ClassMoney, classOf(p, call("pay", arguments)), arguments)
	}
}

// R44: a sandboxed interpreter reads until it may be given more; doubt raises.
func TestRaiseR44(t *testing.T) {
	t.Parallel()
	p := bare(t, policy.Table{Tools: []policy.Tool{{
		Names: []string{"boxed"}, Class: core.ClassRead,
		Raise: []policy.Raise{
			{When: policy.Predicate{{Field: "workspace", IsNot: []string{"read-only"}}}, Class: core.ClassWrite},
			{When: policy.Predicate{{Field: "network", IsNot: []string{"false"}}}, Class: core.ClassSend},
		},
	}}})
	for arguments, want := range map[string]core.Class{
		`{"code":"1"}`: core.ClassRead,
		`{"network":false,"workspace":"read-only"}`: core.ClassRead,
		`{"workspace":"write"}`:                     core.ClassWrite,
		`{"network":"false"}`:                       core.ClassSend,
		`{"network":true}`:                          core.ClassSend,
		`{"network":{"hosts":[]}}`:                  core.ClassSend,
		`{"network":false,"network":true}`:          core.ClassSend,
		`{"NETWORK":true}`:                          core.ClassSend,
	} {
		require.Equal(t, want, classOf(p, call("boxed", arguments)), arguments)
	}
}

// R44: a call of kind exec is a command, whatever its tool is called.
func TestCommandsAreSendR44(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	for _, tool := range []string{"Read", "run", "never-heard-of"} {
		r := call(tool, `{"argv":["ls"],"folder":"/w"}`)
		r.Kind = core.KindExec
		require.Equal(t, core.ClassSend, classOf(p, r), tool)
		r.Arguments = []byte(`{"argv":["/usr/bin/rm","-r","build"],"folder":"/w"}`)
		require.Equal(t, core.ClassMoney, classOf(p, r), tool)
		r.Arguments = []byte(`{"argv":["x"],"executable":"/usr/bin/shred","folder":"/w"}`)
		require.Equal(t, core.ClassMoney, classOf(p, r), tool)
	}
}

// R47, R49: what runs unasked must be safe to repeat, triggers and agents apart.
func TestReadIsRepeatableR49(t *testing.T) {
	t.Parallel()
	all := starter(t)
	for _, pr := range all.Profiles {
		all.Tools = append(all.Tools, pr.Tools...)
	}
	reads := 0
	for _, tool := range all.Tools {
		if tool.Class == core.ClassRead {
			reads++
			require.True(t, !tool.Once || tool.Delegates, tool.Names)
		}
	}
	require.Greater(t, reads, 20)
	require.Equal(t, []policy.Code{policy.FindingReadOnce}, refused(t, policy.Layers{Operator: []policy.Table{{
		Tools: []policy.Tool{{Names: []string{"x"}, Class: core.ClassRead, Once: true}},
	}}}))
}

// R41, R50, K11: nothing that a request says about itself decides anything.
func TestRequestsHaveNoOpinionR50(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	r := call("deploy", `{"class":"read","mode":"only-money-and-deletes","risk":"none","policy":"auto","approval_mode":"none","sandbox":"docker"}`)
	r.Type = "read.only"
	v := policy.Evaluate(p, r, inputs())
	require.Equal(t, policy.Ask, v.Answer)
	require.Equal(t, core.ClassSend, v.Class)
}
