import { execFile, type ExecFileException } from 'node:child_process'
import type { Cluster } from '@kubernetes/client-node'
import { KubeConfigError } from './kubeconfig/kube-config-error.ts'
import { isJsonObject, objectAt, stringAt, type JsonObject } from '../json-object.ts'

/** The bounds on the time of a plugin and on the size of its output in bytes. */
const TIMEOUT_MS = 60_000
const MAX_OUTPUT = 1024 * 1024

/** The output of a credential plugin. Certificates and keys are PEM. */
export interface ExecCredential {
  readonly token: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
  /** Wall-clock milliseconds since the Unix epoch; undefined if the plugin named no expiry. */
  readonly expiresAt: number | undefined
}

/** A credential plugin: the `exec` of a user in a kubeconfig. */
export interface ExecPlugin {
  readonly user: string
  readonly exec: JsonObject
  readonly cluster: Cluster
}

/**
 * Runs the credential plugin of a user, without a terminal.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 * @throws KubeConfigError. It never quotes the output of the plugin, which may hold credentials.
 */
export async function runExecPlugin({ user, exec, cluster }: ExecPlugin): Promise<ExecCredential> {
  const command = stringAt(exec, 'command')
  if (!command) throw new KubeConfigError(`The user \`${user}\` has an \`exec\` without a \`command\``)
  const what = `The credential plugin \`${command}\` of user \`${user}\``
  if (exec['interactiveMode'] === 'Always') {
    throw new KubeConfigError(`${what} needs a terminal (\`interactiveMode: Always\`), but this process has none`)
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

/** Replaces the message of the error, which quotes the arguments and the output. */
function explain({ code, signal, killed }: ExecFileException): string {
  if (code === 'ENOENT') return 'the command does not exist'
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
  const expiry = stringAt(status, 'expirationTimestamp')
  const expiresAt = expiry === undefined ? NaN : Date.parse(expiry)
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
