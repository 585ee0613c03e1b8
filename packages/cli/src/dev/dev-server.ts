import { readFile, rm } from 'node:fs/promises'
import { textOf } from '@tenure/core/internal'
import { startApiServer, type ApiServer } from '@tenure/api-server'
import { type DevFlags, portFlag } from './dev-flags.ts'

/** Starts the embedded API server. @throws OptionsError for an invalid port; Error that names the flag to change if it cannot start */
export async function startServer({ port: portText, file }: DevFlags): Promise<ApiServer> {
  const port = portFlag('--port', portText)
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

/** Whether a server could not listen. */
function isListenError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'listen'
}

/** The kubeconfig of the administrator, which only its owner can read. */
export class AdminKubeConfig implements AsyncDisposable {
  readonly path: string
  readonly #content: string

  private constructor(path: string, content: string) {
    this.path = path
    this.#content = content
  }

  /** Writes the file. @throws Error that names the flag to change */
  static async write(server: ApiServer, path: string): Promise<AdminKubeConfig> {
    try {
      await server.writeKubeConfig(path)
      return new AdminKubeConfig(path, await readFile(path, 'utf8'))
    } catch (cause) {
      const remedy = 'Choose a writable path with `--kubeconfig`.'
      throw new Error(`Could not write the kubeconfig: ${textOf(cause)}. ${remedy}`, { cause })
    }
  }

  /** Removes the file, unless its content has changed since. */
  async [Symbol.asyncDispose](): Promise<void> {
    const found = await readFile(this.path, 'utf8').catch(() => undefined)
    if (found === this.#content) await rm(this.path, { force: true })
  }
}
