// Upstream's controllers with the fake cloud: what the differential tests compare Fairlead with.
package main

import (
	"os"

	"fairlead/manager"
)

func main() {
	manager.Run(&cloud{endpoint: os.Getenv("FAKE_ENDPOINT") + "/v1", token: os.Getenv("FAKE_TOKEN")})
}
