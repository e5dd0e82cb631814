package config

// Config is everything that can be configured. The zero file is a good file.
type Config struct {
	// Data is the folder of the embedded database, the keys, the local token and the
	// admin socket; 0700. Every process has its own, replicas of a fleet too.
	Data string `koanf:"data"`
	// Listen is the address of the HTTP service, "host:port". Off loopback it needs
	// InsecureHTTP, because the service itself speaks plain HTTP.
	Listen string `koanf:"listen"`
	// InsecureHTTP allows plain HTTP off loopback, for a TLS proxy in front.
	InsecureHTTP bool `koanf:"insecure_http"`
	// PublicURL is the trusted origin of links, with scheme and optional base path;
	// without it no absolute link is ever made.
	PublicURL string `koanf:"public_url"`
	// AllowedHosts are Host headers accepted beside those of Listen and PublicURL.
	AllowedHosts []string `koanf:"allowed_hosts"`
	// Timezone is the IANA name of the zone in which cards show times.
	Timezone string `koanf:"timezone"`
	// CLIAllow lets a terminal allow and loosen; otherwise it can only deny and tighten.
	CLIAllow bool `koanf:"cli_allow"`
	// OpenMetrics serves /metrics without a bearer, for an address that only the
	// operator's own network reaches.
	OpenMetrics bool `koanf:"open_metrics"`
	// SecretKeyFile holds the 32-byte key that seals keys in the database; default
	// is a file in Data that the first start makes. The replicas of a fleet need the
	// same one.
	SecretKeyFile string `koanf:"secret_key_file"`

	// Replicas is how many processes share the database of Postgres, as far as nobody
	// counts them: without Redis, or until it has told. Each spends its part of what
	// the messengers allow. 1 to 100; default 2.
	Replicas int      `koanf:"replicas"`
	Postgres Postgres `koanf:"postgres"`
	Redis    Redis    `koanf:"redis"`
	Log      Log      `koanf:"log"`
	Limits   Limits   `koanf:"limits"`
	Policy   Policy   `koanf:"policy"`
	// Callbacks are the runtimes whose requests may name an address to be called.
	Callbacks []Callbacks `koanf:"callbacks"`
	Telegram  []Telegram  `koanf:"telegram"`
	Slack     []Slack     `koanf:"slack"`
	Discord   []Discord   `koanf:"discord"`
	// Routes is the routing table: the first rule that fits a request says where its
	// cards go. Where none fits, everybody who may decide is told in every linked
	// direct chat, and so are the chats listed for each account.
	Routes []Route `koanf:"routes"`
}

// Log configures the log, which goes to standard error.
type Log struct {
	Level  string `koanf:"level"`  // debug, info, warn, error.
	Format string `koanf:"format"` // json, text, or "": text on a terminal, else json.
}

// Limits bounds what one runtime may ask for.
type Limits struct {
	Pending       int     `koanf:"pending"`        // Open approvals per runtime, on all replicas together.
	RequestsPerS  float64 `koanf:"requests_per_s"` // Sustained requests per second and runtime, on each replica.
	RequestsBurst int     `koanf:"requests_burst"`
}

// Policy names the files that say what asks. Without any the starter table alone does.
// What stands in them is read when the service starts, and whenever they change.
type Policy struct {
	// Tables are the operator's, each laid over those before it and all over the starter.
	Tables []string `koanf:"tables"`
	// Organisation is the file that no table loosens; "" for none.
	Organisation string `koanf:"organisation"`
}

// maxTables is far above what anybody writes; a folder full of them is a mistake.
const maxTables = 100

// Callbacks says where the callbacks of one runtime may be.
type Callbacks struct {
	Runtime    string   `koanf:"runtime"`
	Hosts      []string `koanf:"hosts"`  // "hooks.example.com", "https://hooks.example.com:8443"; "http://" for plain HTTP.
	Secret     Secret   `koanf:"secret"` // Signs what is sent: "whsec_" and base64 of 24 to 64 random bytes.
	SecretFile string   `koanf:"secret_file"`
	Networks   []string `koanf:"networks"` // Addresses that are not public and may be called all the same: "10.1.0.0/16".
}

// Telegram is one bot.
type Telegram struct {
	Token     Secret   `koanf:"token"`
	TokenFile string   `koanf:"token_file"`
	Chats     []string `koanf:"chats"`   // Chats told of everything: "-1001234", or "-1001234/5" for a topic.
	Origins   []string `koanf:"origins"` // Chats that a request may name as the one it came from; a chat stands for its topics too.
	APIURL    string   `koanf:"api_url"` // Default https://api.telegram.org.
	// ButtonsOnly makes a plain reply to a card in a direct chat decide nothing (K19).
	ButtonsOnly bool `koanf:"buttons_only"`
	// WebhookSecret switches from polling to a webhook at
	// {public_url}/webhooks/telegram/{bot id}.
	WebhookSecret     Secret `koanf:"webhook_secret"`
	WebhookSecretFile string `koanf:"webhook_secret_file"`
	// Unpaced switches off the budgets of the platform, for a fake server.
	Unpaced bool `koanf:"unpaced"`
}

// Default is the configuration of a service that nobody configured: loopback,
// embedded database, no messenger.
func Default() Config {
	return Config{
		Listen:   "127.0.0.1:7788",
		Timezone: "UTC",
		Replicas: 2,
		Redis:    Redis{Prefix: "sayso"},
		Log:      Log{Level: "info"},
		Limits:   Limits{Pending: 1000, RequestsPerS: 200, RequestsBurst: 400},
	}
}
