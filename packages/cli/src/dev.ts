import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { OptionsError } from '@tenure/core'
import { startApiServer } from '@tenure/api-server'

/** Flags of `tenure dev`, as given. */
export interface DevFlags {
  readonly port?: string
  readonly file?: string
  readonly kubeconfig?: string
}

/**
 * Runs an embedded API server until SIGINT or SIGTERM. The server creates the namespaces that are written to. Only the user can read
 * the kubeconfig that it writes, which holds the key of the administrator. The file is removed at the end.
 *
 * @throws OptionsError for a port that is none.
 */
export async function dev(flags: DevFlags): Promise<void> {
  const kubeConfigPath = resolve(flags.kubeconfig ?? 'tenure-kubeconfig.yaml')
  const port = parsePort(flags.port)
  const server = await startApiServer({
    autoProvisionNamespaces: true,
    ...(port !== undefined && { port }),
    ...(flags.file !== undefined && { file: flags.file }),
  })
  let written: string | undefined
  try {
    await server.writeKubeConfig(kubeConfigPath)
    written = await readFile(kubeConfigPath, 'utf8')
    // A reader of the last line may act on it at once.
    const end = interrupted()
    console.log(
      `API server: ${server.url}\n\n  export KUBECONFIG=${kubeConfigPath}\n\n` +
        'Writing the first object into a namespace creates the namespace; a cluster answers 404 instead.\nCtrl-C ends it.',
    )
    await end
  } finally {
    if (written !== undefined) await removeOwn(kubeConfigPath, written)
    await server.stop()
  }
}

/** Removes a kubeconfig, unless somebody has put another one into its place. */
async function removeOwn(path: string, content: string): Promise<void> {
  const found = await readFile(path, 'utf8').catch(() => undefined)
  if (found === content) await rm(path, { force: true })
}

async function interrupted(): Promise<void> {
  const heard = new AbortController()
  await Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal, { signal: heard.signal })))
  heard.abort()
}

function parsePort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (port >= 0 && port <= 65_535) return port
  throw OptionsError.expected(`\`--port\` to be a TCP port between 0 and 65535`, text)
}
