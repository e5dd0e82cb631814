package policy

import "github.com/saysohq/sayso/core"

// Mode says which classes ask, per agent (R51). There is no mode that asks for
// nothing, and none that lets money pass.
type Mode string

// The modes. The empty mode stands for the default of the tables.
const (
	ModeOutside    Mode = "before-anything-outside" // Asks before send and money; the default.
	ModeEverything Mode = "before-everything"       // Asks before write, send and money.
	ModeMoney      Mode = "only-money-and-deletes"  // Asks before money.
)

// Valid reports whether m is one of the three.
func (m Mode) Valid() bool {
	switch m {
	case ModeOutside, ModeEverything, ModeMoney:
		return true
	}
	return false
}

// Asks reports whether the mode asks for the class. A mode that does not exist
// asks for every class (R59).
func (m Mode) Asks(c core.Class) bool {
	switch m {
	case ModeOutside:
		return rank(c) >= rank(core.ClassSend)
	case ModeEverything:
		return rank(c) >= rank(core.ClassWrite)
	case ModeMoney:
		return rank(c) >= rank(core.ClassMoney)
	}
	return true
}

// String is the mode as people read it.
func (m Mode) String() string {
	switch m {
	case ModeOutside:
		return "Before anything outside"
	case ModeEverything:
		return "Before everything"
	case ModeMoney:
		return "Only money and deletes"
	}
	return "Unknown"
}

// ParseMode reads a mode, or one of the control levels that other systems call it
// by (K14): autonomous, auto and monitored mean ModeOutside; strict, prompt, manual
// and tools mean ModeEverything. The empty string is the default, ModeOutside.
// Errors: ErrInvalid (a FieldError on "mode") for anything else.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "", "autonomous", "auto", "monitored":
		return ModeOutside, nil
	case "strict", "prompt", "manual", "tools":
		return ModeEverything, nil
	}
	if m := Mode(s); m.Valid() {
		return m, nil
	}
	return "", core.Invalid("mode", "must be before-anything-outside, before-everything, only-money-and-deletes, or a known control level")
}

// policyID names the grant of step 9 under this mode. The empty and the unknown
// mode have none.
func (m Mode) policyID() string {
	switch m {
	case ModeOutside:
		return "mode.before-anything-outside.v1"
	case ModeEverything:
		return "mode.before-everything.v1"
	case ModeMoney:
		return "mode.only-money-and-deletes.v1"
	}
	return ""
}
