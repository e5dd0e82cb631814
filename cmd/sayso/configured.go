package main

import (
	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/cmd/internal/config"
)

// configured are the flags that name the configuration of a service, for commands that
// run it or work on its database. A secret itself is no flag: everybody on the machine
// can read a command line.
type configured struct {
	file    string
	dsnFile string
}

func (f *configured) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.file, "config", "", "configuration file, YAML (SAYSO_CONFIG)")
	flags.StringVar(&f.dsnFile, "postgres-dsn-file", "", "file with the connection string of PostgreSQL (SAYSO_POSTGRES__DSN_FILE)")
}

// load reads the configuration as these flags and more say. Every fault is a usage error.
func (c *connection) load(f *configured, more ...func(*config.Config)) (config.Config, error) {
	cfg, err := c.serviceConfig(f.file, append(more, func(cfg *config.Config) {
		if f.dsnFile != "" {
			cfg.Postgres.DSN, cfg.Postgres.DSNFile = "", f.dsnFile
		}
	})...)
	if err != nil {
		return config.Config{}, usage("%w", err)
	}
	return cfg, nil
}

// serviceConfig reads the configuration as serve would.
func (c *connection) serviceConfig(file string, flags ...func(*config.Config)) (config.Config, error) {
	if file == "" {
		file = c.variable("SAYSO_CONFIG")
	}
	folder, err := c.folder()
	if err != nil {
		return config.Config{}, err
	}
	return config.Load(file, c.env.environ, func(cfg *config.Config) {
		if c.data != "" || cfg.Data == "" {
			cfg.Data = folder
		}
		for _, flag := range flags {
			flag(cfg)
		}
	})
}
