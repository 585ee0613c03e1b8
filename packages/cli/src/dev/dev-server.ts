import { readFile, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { OptionsError } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import { startApiServer, type ApiServer } from '@tenure/api-server'
import { aborted, type Terminal } from '../terminal.ts'

/** Flags of `tenure dev`, as given. */
export interface DevFlags {
  readonly port?: string
  readonly file?: string
  readonly kubeconfig?: string
}

/**
 * Runs an embedded API server until it is interrupted. The server creates a namespace when the first object is written into it.
 *
 * Writes a kubeconfig that holds the key of the administrator and that only its owner can read. Removes the file at the end.
 *
 * @throws OptionsError for an invalid port.
 * @throws Error if the server cannot start or the kubeconfig cannot be written. The message names the flag to change.
 */
export async function dev(flags: DevFlags, terminal: Terminal): Promise<void> {
  const kubeConfigPath = resolve(flags.kubeconfig ?? 'tenure-kubeconfig.yaml')
  const server = await startServer(flags)
  let written: string | undefined
  try {
    written = await writeKubeConfig(server, kubeConfigPath)
    terminal.out(
      `API server: ${server.url}\n\n  export KUBECONFIG=${kubeConfigPath}\n\n` +
        'The server creates a namespace when you write the first object into it. A cluster answers 404 instead.\n' +
        'Press Ctrl-C to stop the server.\n',
    )
    await aborted(terminal.interrupted)
  } finally {
    if (written !== undefined) await removeOwn(kubeConfigPath, written)
    await server.stop()
  }
}

async function startServer({ port: portText, file }: DevFlags): Promise<ApiServer> {
  const port = parsePort(portText)
  try {
    return await startApiServer({
      autoProvisionNamespaces: true,
      ...(port !== undefined && { port }),
      ...(file !== undefined && { file }),
    })
  } catch (cause) {
    const message = `Could not start the API server: ${textOf(cause)}`
    if (isListenError(cause)) throw new Error(`${message}. Choose another \`--port\`, or omit it.`, { cause })
    if (file !== undefined) throw new Error(`${message}. Choose another \`--file\`, or omit it.`, { cause })
    throw cause
  }
}

function isListenError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'listen'
}

/** Writes the kubeconfig of the administrator. Returns its text. */
async function writeKubeConfig(server: ApiServer, path: string): Promise<string> {
  try {
    await server.writeKubeConfig(path)
    return await readFile(path, 'utf8')
  } catch (cause) {
    const remedy = 'Choose a writable path with `--kubeconfig`.'
    throw new Error(`Could not write the kubeconfig: ${textOf(cause)}. ${remedy}`, { cause })
  }
}

/** Removes the kubeconfig, unless its content has changed since. */
async function removeOwn(path: string, content: string): Promise<void> {
  const found = await readFile(path, 'utf8').catch(() => undefined)
  if (found === content) await rm(path, { force: true })
}

function parsePort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (port >= 0 && port <= 65_535) return port
  throw new OptionsError(`Expected \`--port\` to be a TCP port between 0 and 65535, got \`${text}\``)
}
