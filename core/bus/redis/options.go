package redis

import (
	"net/url"
	"regexp"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/saysohq/sayso/core"
)

const (
	defaultPrefix   = "sayso"
	assumedReplicas = 2
	dialTimeout     = time.Second
	callTimeout     = time.Second
	poolSize        = 16
)

var (
	validPrefix     = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)
	validDeployment = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

// name is the name of a channel or a key of this deployment. The braces keep all of
// them in one slot where Redis is a cluster.
func (c *Config) name(what string) string { return c.prefix() + ":{" + c.Deployment + "}:" + what }

func (c *Config) prefix() string {
	if c.Prefix == "" {
		return defaultPrefix
	}
	return c.Prefix
}

// options checks the configuration. The causes of errors stay out of them: they hold
// the address, and with it the password.
func (c *Config) options() (*goredis.Options, error) {
	const wanted = "must be redis://[user:password@]host[:port][/database], rediss:// for TLS, or unix://path"
	u, err := url.Parse(c.URL)
	if err != nil || c.URL == "" {
		return nil, core.Invalid("redis.url", wanted)
	}
	for name := range u.Query() {
		if name != "db" || u.Scheme != "unix" {
			return nil, core.Invalid("redis.url", "takes no parameters, but ?db=n after unix://path")
		}
	}
	o, err := goredis.ParseURL(c.URL)
	if err != nil {
		return nil, core.Invalid("redis.url", wanted)
	}
	switch {
	case !validPrefix.MatchString(c.prefix()):
		return nil, core.Invalid("redis.prefix", "must be 1 to 64 letters, digits and . _ : -")
	case !validDeployment.MatchString(c.Deployment):
		return nil, core.Invalid("deployment", "must be 1 to 64 letters, digits, _ and -")
	case c.Replicas < 0:
		return nil, core.Invalid("redis.replicas", "must not be negative")
	}
	o.ContextTimeoutEnabled = true // Or a context ends, and the call does not.
	o.MaxRetries = -1              // A call may have been carried out although its answer was lost.
	o.DialTimeout, o.DialerRetries = dialTimeout, 1
	o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = callTimeout, callTimeout, callTimeout
	o.PoolSize, o.PipelinePoolSize = poolSize, -1
	o.DisableIdentity = true // Whoever lists clients needs nothing of ours.
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}
