package discord

import "encoding/json"

// allRights are the rights that the platform reports for an administrator.
const allRights = "8"

// Join replaces the servers that the bot is in by one for each of the given sets of
// rights, as the platform spells them: a number whose bits are the rights.
func (s *Server) Join(rights ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rights = append([]string{}, rights...)
}

// Divert registers an endpoint that belongs to somebody else: interactions are pushed
// there from now on. "" takes it away.
func (s *Server) Divert(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endpoint = url
}

func (s *Server) listGuilds(*request) (any, *apiError) {
	rights := s.rights
	if rights == nil {
		rights = []string{allRights}
	}
	list := make([]map[string]any, 0, len(rights))
	for _, r := range rights {
		list = append(list, map[string]any{"id": s.newID(), "name": "a server", "permissions": r})
	}
	return list, nil
}

// listCommands lists the commands of the application; the platform keeps one of each
// name, the last.
func (s *Server) listCommands(q *request) (any, *apiError) {
	if q.path[1] != s.bot.ID {
		return nil, refused(403, 20012, "You are not authorized to perform this action on this application")
	}
	list := []map[string]any{}
	seen := map[any]int{}
	for _, raw := range s.commands {
		var c map[string]any
		if json.Unmarshal(raw, &c) != nil {
			continue
		}
		if at, ok := seen[c["name"]]; ok {
			list[at] = c
			continue
		}
		seen[c["name"]] = len(list)
		list = append(list, c)
	}
	return list, nil
}
