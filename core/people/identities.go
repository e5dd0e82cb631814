package people

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/saysohq/sayso/core"
)

// LinkIdentity links a platform's user id to a person without asking in the chat:
// for admins who know the id ("not yours, you are telegram 123"). Errors:
// core.ErrForbidden, core.ErrInvalid, core.ErrIdentityTaken, core.ErrNotFound.
func (s *Service) LinkIdentity(ctx context.Context, by core.Caller, i core.Identity) error {
	if err := s.authorise(ctx, by, widen); err != nil {
		return err
	}
	return s.link(ctx, by, i)
}

func (s *Service) link(ctx context.Context, by core.Caller, i core.Identity) error {
	i, err := s.identity(i)
	if err != nil {
		return err
	}
	if !ValidPrincipalID(i.PrincipalID) {
		return fmt.Errorf("link identity: %w", core.ErrNotFound)
	}
	if err := s.Identities.LinkIdentity(ctx, i); err != nil {
		return fmt.Errorf("link identity: %w", err)
	}
	s.audit(ctx, by, "identity linked", slog.String("person", i.PrincipalID), slog.String("realm", i.Realm))
	return nil
}

// UnlinkIdentity takes a link away; people may unlink their own, machines with the
// admin scope any. Errors: core.ErrForbidden, core.ErrNotFound.
func (s *Service) UnlinkIdentity(ctx context.Context, by core.Caller, realm, externalID string) error {
	owner, err := s.Principals.PrincipalByIdentity(ctx, realm, externalID)
	if err != nil {
		// Whoever may not administer learns nothing about what exists.
		if denied := s.authorise(ctx, by, tighten); denied != nil {
			return denied
		}
		return fmt.Errorf("unlink identity: %w", err)
	}
	if err := s.authoriseFor(ctx, by, owner.ID, tighten); err != nil {
		return err
	}
	return s.unlink(ctx, by, owner.ID, realm, externalID)
}

func (s *Service) unlink(ctx context.Context, by core.Caller, principalID, realm, externalID string) error {
	if err := s.Identities.UnlinkIdentity(ctx, realm, externalID); err != nil {
		return fmt.Errorf("unlink identity: %w", err)
	}
	s.audit(ctx, by, "identity unlinked", slog.String("person", principalID), slog.String("realm", realm))
	return nil
}

// IdentitiesOf lists a person's links: their own, or anybody's for an admin.
// Errors: core.ErrForbidden.
func (s *Service) IdentitiesOf(ctx context.Context, by core.Caller, principalID string) ([]core.Identity, error) {
	if err := s.authoriseFor(ctx, by, principalID, tighten); err != nil {
		return nil, err
	}
	return s.Identities.IdentitiesOf(ctx, principalID)
}

// SetOwners replaces the people who own an agent; an agent without owners belongs
// to the admins. Errors: core.ErrForbidden, core.ErrInvalid, core.ErrNotFound.
func (s *Service) SetOwners(ctx context.Context, by core.Caller, runtime, agent string, principalIDs []string) error {
	if err := s.authorise(ctx, by, widen); err != nil {
		return err
	}
	return s.own(ctx, by, runtime, agent, principalIDs)
}

func (s *Service) own(ctx context.Context, by core.Caller, runtime, agent string, principalIDs []string) error {
	if err := checkAgent(runtime, agent); err != nil {
		return err
	}
	if len(principalIDs) > core.MaxReviewers {
		return core.Invalid("owners", "must be at most %d people", core.MaxReviewers)
	}
	if err := s.Identities.SetOwners(ctx, runtime, s.agent(agent), principalIDs); err != nil {
		return fmt.Errorf("set owners: %w", err)
	}
	s.audit(ctx, by, "owners set", slog.String("runtime", runtime), slog.Int("owners", len(principalIDs)))
	return nil
}

// Owners lists who owns an agent. Errors: core.ErrForbidden, core.ErrInvalid.
func (s *Service) Owners(ctx context.Context, by core.Caller, runtime, agent string) ([]string, error) {
	if err := s.authorise(ctx, by, tighten); err != nil {
		return nil, err
	}
	if err := checkAgent(runtime, agent); err != nil {
		return nil, err
	}
	return s.Identities.Owners(ctx, runtime, s.agent(agent))
}

// agent is an agent's name as its approvals record it: safe text. Owners are looked
// up by that, so they are stored by it.
func (s *Service) agent(name string) string { return core.RecordedAgent(s.Text.Text, name) }

func checkAgent(runtime, agent string) error {
	switch {
	case !core.ValidRuntimeName(runtime):
		return core.Invalid("runtime", "must be 1 to %d of a-z, 0-9 and '-', not beginning with '-'", core.MaxRuntimeName)
	case agent == "":
		return core.Invalid("agent", "must not be empty")
	case !core.ValidAgentName(agent):
		return core.Invalid("agent", "must be at most %d characters of UTF-8", core.MaxShortText)
	}
	return nil
}

// maxExternalID bounds a platform's user id and a realm, in bytes; the platforms'
// own are under 64.
const maxExternalID = 128

// slackRealm stands before a team's id: a Slack user id is unique in its team only.
const slackRealm = "slack:"

// identity checks a link and derives its channel from the realm.
func (s *Service) identity(i core.Identity) (core.Identity, error) {
	switch {
	case i.Realm == string(core.SurfaceTelegram):
		i.Channel = core.SurfaceTelegram
	case i.Realm == string(core.SurfaceDiscord):
		i.Channel = core.SurfaceDiscord
	case strings.HasPrefix(i.Realm, slackRealm) && plainID(i.Realm[len(slackRealm):]):
		i.Channel = core.SurfaceSlack
	default:
		return i, core.Invalid("realm", "must be telegram, discord, or slack: and the id of the team")
	}
	if !plainID(i.ExternalID) {
		return i, core.Invalid("external_id", "must be the platform's user id: letters and digits, at most %d", maxExternalID)
	}
	i.Label = s.label(i.Label)
	return i, nil
}

// plainID is what all three platforms' ids look like: digits, or capitals and digits.
func plainID(s string) bool {
	if s == "" || len(s) > maxExternalID {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
