// Package config is the typed configuration of the service: file < environment <
// flag, unknown keys refused, every secret with a _file twin, and every fault
// named at once before anything starts.
//
// The environment carries the same keys in capitals with SAYSO_ before them and a
// double underscore between levels: log.level is SAYSO_LOG__LEVEL. One Telegram
// bot can be given as SAYSO_TELEGRAM_TOKEN (and SAYSO_TELEGRAM_CHATS) without a
// file. People are not configured here: they live in the store.
package config
