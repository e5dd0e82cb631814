package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
)

// maxFile bounds the configuration file in bytes: nobody writes a megabyte, and an
// anchor bomb starts small enough to be refused by the parser's own limits.
const maxFile = 1 << 20

// clientVariables are read by the command line and are no configuration of the
// service.
var clientVariables = map[string]bool{
	"url": true, "token": true, "config": true, "specs": true, "install": true,
	"telegram_token": true, "telegram_token_file": true, "telegram_chats": true, "telegram_api_url": true,
}

// Load reads file (when it is not ""), then the environment, then override, and
// validates the result. All faults come back joined, none with a secret in it.
func Load(path string, environ []string, override func(*Config)) (Config, error) {
	k := koanf.New(".")
	if path != "" {
		if err := loadFile(k, path); err != nil {
			return Config{}, err
		}
	}
	if err := loadEnviron(k, environ); err != nil {
		return Config{}, err
	}
	cfg := Default()
	// Unknown keys are refused; the error names the key, never its value.
	err := k.UnmarshalWithConf("", &cfg, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		ErrorUnused: true, WeaklyTypedInput: true, Result: &cfg, TagName: "koanf",
		DecodeHook: mapstructure.ComposeDecodeHookFunc(
			mapstructure.StringToTimeDurationHookFunc(), mapstructure.StringToSliceHookFunc(",")),
	}})
	var faults error
	if err != nil {
		mistyped, fault := decodeFault(err)
		faults = fmt.Errorf("configuration: %w", fault)
		if mistyped { // What was left out would only be complained about again.
			return Config{}, faults
		}
	}
	telegramFromEnviron(&cfg, environ)
	if override != nil {
		override(&cfg)
	}
	if cfg.Data == "" {
		if cfg.Data, err = DefaultData(environ); err != nil {
			return Config{}, err
		}
	}
	return cfg, errors.Join(faults, cfg.given(k), cfg.resolveSecrets(), cfg.Validate())
}

// given refuses a section whose first key is missing, or is empty because a variable
// was: a replica would serve from a database of its own, and nobody would notice.
func (c *Config) given(k *koanf.Koanf) error {
	var faults []error
	if k.Exists("postgres") && c.Postgres.DSN == "" && c.Postgres.DSNFile == "" {
		faults = append(faults, errors.New("postgres.dsn: is required where anything of postgres is given, and not empty (or dsn_file)"))
	}
	if k.Exists("redis") && c.Redis.URL == "" && c.Redis.URLFile == "" {
		faults = append(faults, errors.New("redis.url: is required where anything of redis is given, and not empty (or url_file)"))
	}
	return errors.Join(faults...)
}

func loadFile(k *koanf.Koanf, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("configuration file: %w", errors.Unwrap(err))
	}
	if info.Size() > maxFile {
		return fmt.Errorf("configuration file: over %d bytes", maxFile)
	}
	var unreadable *fs.PathError
	if err := k.Load(file.Provider(path), yaml.Parser()); errors.As(err, &unreadable) {
		return fmt.Errorf("configuration file: %w", unreadable.Err)
	} else if err != nil {
		return errors.New("configuration file: not valid YAML")
	}
	return nil
}

// twins are the secrets that the environment can carry, each with a _file twin.
// Those of messengers stand in lists, which only a file has.
var twins = []string{"postgres.dsn", "postgres.migrate_dsn", "redis.url"}

// loadEnviron adds the environment. A secret given there outranks the file's, in
// whichever of its two forms either stands.
func loadEnviron(k *koanf.Koanf, environ []string) error {
	given := koanf.New(".")
	err := given.Load(env.Provider(".", env.Opt{
		Prefix:      "SAYSO_",
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(key, value string) (string, any) {
			key = strings.ToLower(strings.TrimPrefix(key, "SAYSO_"))
			if clientVariables[key] {
				return "", nil
			}
			return strings.ReplaceAll(key, "__", "."), value
		},
	}), nil)
	if err != nil {
		return err
	}
	for _, secret := range twins {
		if given.Exists(secret) || given.Exists(secret+"_file") {
			k.Delete(secret)
			k.Delete(secret + "_file")
		}
	}
	return k.Merge(given)
}

// telegramFromEnviron adds the one bot that needs no file.
func telegramFromEnviron(cfg *Config, environ []string) {
	get := lookup(environ)
	bot := Telegram{
		Token: Secret(get("SAYSO_TELEGRAM_TOKEN")), TokenFile: get("SAYSO_TELEGRAM_TOKEN_FILE"),
		APIURL: get("SAYSO_TELEGRAM_API_URL"),
	}
	if bot.Token == "" && bot.TokenFile == "" {
		return
	}
	if chats := get("SAYSO_TELEGRAM_CHATS"); chats != "" {
		bot.Chats = strings.Split(chats, ",")
	}
	cfg.Telegram = append(cfg.Telegram, bot)
}

func lookup(environ []string) func(string) string {
	return func(key string) string {
		for _, e := range slices.Backward(environ) {
			if v, ok := strings.CutPrefix(e, key+"="); ok {
				return v
			}
		}
		return ""
	}
}

// DefaultData is the user's own state folder.
func DefaultData(environ []string) (string, error) {
	get := lookup(environ)
	if d := get("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "sayso"), nil
	}
	home := get("HOME")
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return "", errors.New("data: there is no home folder; give one with --data")
		}
	}
	return filepath.Join(home, ".local", "state", "sayso"), nil
}

// decodeFault keeps the names of unknown and mistyped keys and drops the values
// that the decoder would repeat. The first result reports a mistyped key.
func decodeFault(err error) (mistyped bool, fault error) {
	var faults []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		parts := strings.SplitN(line, "'", 3)
		where := ""
		if len(parts) == 3 {
			where = strings.TrimPrefix(parts[1], "Config.")
		}
		if _, keys, unknown := strings.Cut(line, "has invalid keys:"); unknown {
			if where != "" {
				where += ": "
			}
			faults = append(faults, errors.New(where+"unknown keys:"+keys))
			continue
		}
		if where != "" {
			mistyped = true
			faults = append(faults, fmt.Errorf("%s: the value has the wrong type", where))
		}
	}
	if len(faults) == 0 {
		return true, errors.New("a value has the wrong type")
	}
	return mistyped, errors.Join(faults...)
}
