// Runs tests of Kubernetes' own end-to-end suite for networks against a cluster without kubelets: those that --ginkgo.focus selects.
package main

import (
	"flag"
	"os"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	_ "k8s.io/kubernetes/test/e2e/network"
)

type outcome struct{}

func (outcome) Fail() {}

func main() {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	framework.AfterReadingAllFlags(&framework.TestContext)
	gomega.RegisterFailHandler(framework.Fail)
	suite, reporter := framework.CreateGinkgoConfig()
	if !ginkgo.RunSpecs(outcome{}, "Kubernetes", suite, reporter) {
		os.Exit(1)
	}
}
