package main

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	v1 "k8s.io/api/core/v1"
)

const serversExpireAfter = 10 * time.Second

// servers has all servers by name and by id. Like that of the Go manager of Hetzner Cloud, it lists them again when they are older than
// ten seconds, or when one is missing.
type servers struct {
	client   *hcloud.Client
	mutex    sync.Mutex
	listedAt time.Time
	known    map[string]*hcloud.Server
}

// idOf returns the id in a provider id, and "" without one.
func idOf(node *v1.Node) string {
	return strings.TrimPrefix(node.Spec.ProviderID, providerName+"://")
}

// find returns nil when there is none.
func (s *servers) find(ctx context.Context, node *v1.Node) (*hcloud.Server, error) {
	which := orElse(idOf(node), node.Name)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if found := s.known[which]; found != nil && time.Since(s.listedAt) < serversExpireAfter {
		return found, nil
	}
	all, err := s.client.Server.All(ctx)
	if err != nil {
		return nil, err
	}
	s.known, s.listedAt = map[string]*hcloud.Server{}, time.Now()
	for _, each := range all {
		s.known[each.Name], s.known[strconv.FormatInt(each.ID, 10)] = each, each
	}
	return s.known[which], nil
}
