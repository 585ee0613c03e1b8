import { once } from 'node:events'
import { resolve } from 'node:path'
import { OptionsError } from '@tenure/core'
import { startApiServer } from '@tenure/testing'

/** Flags of `tenure dev`, as given. */
export interface DevFlags {
  readonly port?: string
  readonly file?: string
  readonly kubeconfig?: string
}

/** Runs an embedded API server, which creates the namespaces that are written to, until SIGINT or SIGTERM. @throws OptionsError for a port that is none. */
export async function dev(flags: DevFlags): Promise<void> {
  const kubeConfigPath = resolve(flags.kubeconfig ?? 'tenure-kubeconfig.yaml')
  const port = parsePort(flags.port)
  const server = await startApiServer({
    autoProvisionNamespaces: true,
    ...(port !== undefined && { port }),
    ...(flags.file !== undefined && { file: flags.file }),
  })
  try {
    await server.writeKubeConfig(kubeConfigPath)
    // Whoever reads the last line may act on it at once.
    const end = interrupted()
    console.log(
      `API server: ${server.url}\n\n  export KUBECONFIG=${kubeConfigPath}\n\n` +
        'Writing the first object into a namespace creates the namespace; a cluster answers 404 instead.\nCtrl-C ends it.',
    )
    await end
  } finally {
    await server.stop()
  }
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
  throw new OptionsError(`Expected \`--port\` to be a TCP port between 0 and 65535, got \`${text}\``)
}
