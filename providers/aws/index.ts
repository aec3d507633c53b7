// The provider of AWS: instances of EC2, load balancers, routes to instances, and EBS volumes.

import { defineProvider } from "#ccm";
import { awsApi } from "./api/index.ts";
import { clusterOf } from "./cluster.ts";
import { accessOf, credentialFiles } from "./credentials/credentials.ts";
import { InstanceMetadata } from "./credentials/metadata.ts";
import { fargate, instanceSource } from "./instances.ts";
import { annotations, otherTypes, prefix } from "./load-balancers/annotations.ts";
import { awsLoadBalancers } from "./load-balancers/load-balancers.ts";
import { contradictions } from "./load-balancers/plan-balancer.ts";
import { iamPolicy } from "./policy.ts";
import { ClusterRoutes } from "./routes.ts";
import { checkSettings, config, readConfigFile } from "./settings.ts";
import { instanceTags } from "./tagging.ts";
import { Zones } from "./topology.ts";
import { volumeDriver } from "./volumes/volume-driver.ts";
import { ebsVolumes } from "./volumes/volumes.ts";

export const aws = defineProvider({
  contract: 3,
  name: "aws",
  schemes: ["aws://"],
  config,
  annotations: {
    prefix,
    fields: annotations,
    targetSelector: "target-node-labels",
    check: contradictions,
    servedElsewhere: { field: "type", values: otherTypes, by: "the AWS Load Balancer Controller" },
  },
  volumeDriver,
  readConfigFile,
  checkConfig: checkSettings,
  inputs: credentialFiles,
  policy: iamPolicy,
  connect: (settings, context) => {
    const metadata = new InstanceMetadata(settings, context.account);
    const access = accessOf(settings, context, metadata);
    const api = awsApi(access, context.account);
    const cluster = { ...clusterOf(settings, api, metadata), zones: new Zones(api.ec2) };
    const source = instanceSource(api.ec2, settings, { ...cluster, region: access.region });
    return {
      instances: { sources: [source], unreadable: [fargate], matchBy: ["name", "shortName"] },
      machineTags: instanceTags(api.ec2, settings),
      loadBalancers: awsLoadBalancers(
        api,
        { ...settings, cluster: context.mark.cluster },
        cluster,
        context.announce,
      ),
      routes: new ClusterRoutes(api.ec2, settings, cluster),
      volumes: ebsVolumes(api.ec2, settings, cluster),
    };
  },
});
