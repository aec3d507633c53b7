// The parts of Bun, from its license file, which every executable contains. Review the table when the pinned Bun changes;
// a test enforces this.

/** The Bun version that the table describes. */
export const describedBunVersion = "1.4.5";

/** Name, license as an SPDX expression, and source. */
export const runtimeParts: readonly (readonly [string, string, string])[] = [
  ["JavaScriptCore and WebCore", "LGPL-2.0-or-later AND BSD-2-Clause", "https://github.com/oven-sh/WebKit"],
  ["boringssl", "OpenSSL AND ISC AND BSD-3-Clause", "https://boringssl.googlesource.com/boringssl/"],
  ["brotli", "MIT", "https://github.com/google/brotli"],
  ["c-ares", "MIT", "https://github.com/c-ares/c-ares"],
  ["highway", "Apache-2.0", "https://github.com/google/highway"],
  ["icu", "Unicode-3.0", "https://github.com/unicode-org/icu"],
  ["libarchive", "BSD-2-Clause", "https://github.com/libarchive/libarchive"],
  ["libbase64", "BSD-2-Clause", "https://github.com/aklomp/base64"],
  ["libdeflate", "MIT", "https://github.com/ebiggers/libdeflate"],
  ["libjpeg-turbo", "BSD-3-Clause AND IJG AND Zlib", "https://github.com/libjpeg-turbo/libjpeg-turbo"],
  ["libspng", "BSD-2-Clause", "https://github.com/randy408/libspng"],
  ["libwebp", "BSD-3-Clause", "https://github.com/webmproject/libwebp"],
  ["lol-html", "BSD-3-Clause", "https://github.com/cloudflare/lol-html"],
  ["ls-hpack", "MIT", "https://github.com/litespeedtech/ls-hpack"],
  ["ls-qpack", "MIT", "https://github.com/litespeedtech/ls-qpack"],
  ["lsquic", "MIT AND BSD-3-Clause", "https://github.com/litespeedtech/lsquic"],
  ["libc++abi", "Apache-2.0 WITH LLVM-exception", "https://github.com/llvm/llvm-project"],
  ["mimalloc", "MIT", "https://github.com/microsoft/mimalloc"],
  ["picohttpparser", "MIT", "https://github.com/h2o/picohttpparser"],
  ["simdutf", "Apache-2.0", "https://github.com/simdutf/simdutf"],
  ["tigerbeetle", "Apache-2.0", "https://github.com/tigerbeetle/tigerbeetle"],
  ["tinycc", "LGPL-2.1-or-later", "https://github.com/tinycc/tinycc"],
  ["uSockets", "Apache-2.0", "https://github.com/uNetworking/uSockets"],
  ["uWebSockets", "Apache-2.0", "https://github.com/jarred-sumner/uwebsockets"],
  ["uucode", "MIT", "https://github.com/jacobsandlund/uucode"],
  ["zlib-ng", "Zlib", "https://github.com/zlib-ng/zlib-ng"],
  ["zstd", "BSD-3-Clause", "https://github.com/facebook/zstd"],
];
