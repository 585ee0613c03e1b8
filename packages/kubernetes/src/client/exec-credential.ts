import { execFile, type ExecFileException } from 'node:child_process'
import type { Cluster } from '@kubernetes/client-node'
import { KubeConfigError } from './kubeconfig/kube-config-error.ts'
import { isJsonObject, objectAt, stringAt, type JsonObject } from '../json-object.ts'

/** How long a plugin may take, and how much it may print. */
const TIMEOUT_MS = 60_000
const MAX_OUTPUT = 1024 * 1024

/** What a plugin gave. Certificates and keys are PEM. */
export interface ExecCredential {
  readonly token: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
  /** In wall-clock milliseconds since the Unix epoch; undefined where the plugin named none. */
  readonly expiresAt: number | undefined
}

/** A plugin, as the `exec` of a user in a kubeconfig names it. */
export interface ExecPlugin {
  readonly user: string
  readonly exec: JsonObject
  readonly cluster: Cluster
}

/**
 * Runs the credential plugin of a user, without a terminal.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 * @throws KubeConfigError, which never quotes what the plugin printed: that may hold credentials
 */
export async function runExecPlugin({ user, exec, cluster }: ExecPlugin): Promise<ExecCredential> {
  const command = stringAt(exec, 'command')
  const what = `The credential plugin \`${command ?? ''}\` of user \`${user}\``
  if (!command) throw new KubeConfigError(`The user \`${user}\` has an \`exec\` without a \`command\``)
  if (exec['interactiveMode'] === 'Always') {
    throw new KubeConfigError(`${what} asks for a terminal (\`interactiveMode: Always\`), which this process has not`)
  }
  const args = Array.isArray(exec['args']) ? exec['args'].map(String) : []
  const output = await new Promise<string>((resolve, reject) => {
    const options = { env: environmentOf(exec, cluster), timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT }
    const child = execFile(command, args, options, (error, stdout) => {
      if (error === null) resolve(stdout)
      else reject(new KubeConfigError(`${what} failed: ${explain(error)}; run it by hand to see what it prints`))
    })
    child.stdin?.end()
  })
  const credential = parseCredential(output)
  if (credential === undefined)
    throw new KubeConfigError(`${what} printed no ExecCredential with a token or a certificate`)
  return credential
}

/** The message of the error holds the arguments and what was printed. */
function explain({ code, signal, killed }: ExecFileException): string {
  if (code === 'ENOENT') return 'there is no such command'
  if (killed === true && signal != null) return `it did not end within ${TIMEOUT_MS} ms`
  if (signal != null) return `it was ended by ${signal}`
  return typeof code === 'number' ? `it exited with code ${code}` : String(code)
}

function environmentOf(exec: JsonObject, cluster: Cluster): NodeJS.ProcessEnv {
  const entries = Array.isArray(exec['env']) ? exec['env'].filter(isJsonObject) : []
  const own = entries.map((entry) => [stringAt(entry, 'name') ?? '', stringAt(entry, 'value') ?? ''] as const)
  return { ...process.env, KUBERNETES_EXEC_INFO: JSON.stringify(execInfo(exec, cluster)), ...Object.fromEntries(own) }
}

function execInfo(exec: JsonObject, cluster: Cluster): JsonObject {
  return {
    apiVersion: stringAt(exec, 'apiVersion') ?? 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: {
      interactive: false,
      ...(exec['provideClusterInfo'] === true && {
        cluster: {
          server: cluster.server,
          'tls-server-name': cluster.tlsServerName,
          'insecure-skip-tls-verify': cluster.skipTLSVerify,
          'certificate-authority-data': cluster.caData,
          'proxy-url': cluster.proxyUrl,
        },
      }),
    },
  }
}

function parseCredential(output: string): ExecCredential | undefined {
  const status = objectAt(tryParse(output), 'status')
  const [token, cert, key] = ['token', 'clientCertificateData', 'clientKeyData'].map(
    (name) => stringAt(status, name) || undefined,
  )
  if (token === undefined && (cert === undefined || key === undefined)) return undefined
  const expiresAt = Date.parse(stringAt(status, 'expirationTimestamp') ?? '')
  return { token, cert, key, expiresAt: Number.isNaN(expiresAt) ? undefined : expiresAt }
}

function tryParse(text: string): JsonObject {
  try {
    const parsed: unknown = JSON.parse(text)
    return isJsonObject(parsed) ? parsed : {}
  } catch {
    return {}
  }
}
