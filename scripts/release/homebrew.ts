// The formula of kubectl-fairlead for a Homebrew tap, on macOS and Linux. Pure.

import packageJson from "../../package.json" with { type: "json" };
import type { Download, PluginDownloads } from "./krew.ts";

const systems = { darwin: "on_macos", linux: "on_linux" } as const;
const processors = { arm64: "on_arm", x64: "on_intel" } as const;

function blockFor(system: keyof typeof systems, downloads: readonly Download[]): readonly string[] {
  const blocks = Object.entries(processors).flatMap(([processor, name]) =>
    downloads
      .filter(({ target }) => target === `${system}-${processor}`)
      .map(({ url, sha256 }) => `    ${name} do\n      url "${url}"\n      sha256 "${sha256}"\n    end\n`),
  );
  return blocks.length === 0 ? [] : [`  ${systems[system]} do\n${blocks.join("")}  end\n`];
}

export function homebrewFormula({ version, downloads }: PluginDownloads): string {
  return `class KubectlFairlead < Formula
  desc "Explain and check a cloud-controller-manager of Kubernetes"
  homepage "${packageJson.homepage}"
  version "${version}"
  license "${packageJson.license}"

${[...blockFor("darwin", downloads), ...blockFor("linux", downloads)].join("\n")}
  def install
    bin.install "kubectl-fairlead"
    bin.install_symlink "kubectl-fairlead" => "kubectl_complete-fairlead"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kubectl-fairlead version")
  end
end
`;
}
