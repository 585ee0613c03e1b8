import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/**
 * Checks that the `go` on the PATH can build the module in `folder`.
 *
 * @throws Error that says which version is needed when there is none, or when it is too old.
 */
export async function assertGo(folder: string): Promise<void> {
  const [, needed = ''] = /^go (\S+)$/m.exec(await readFile(join(folder, 'go.mod'), 'utf8')) ?? []
  const remedy = `install Go ${needed} or newer, or set KUBEBUILDER_ASSETS to a folder that holds etcd and kube-apiserver`
  try {
    // Go compares its version with the one in go.mod itself, and may be set up to fetch a newer one.
    await runGo(['list', '-m'], folder)
  } catch (cause) {
    const reason = isNotFound(cause) ? 'there is no `go` on the PATH' : 'the `go` on the PATH cannot be used'
    throw new Error(`Cannot build the control plane: ${reason}; ${remedy}`, { cause })
  }
}

/**
 * Runs `go` with these arguments in `folder`.
 *
 * @throws Error with everything it printed when it fails.
 */
export async function runGo(args: readonly string[], folder: string): Promise<void> {
  const child = spawn('go', args, {
    cwd: folder,
    // Without cgo no C compiler is needed, and the executables depend on nothing.
    env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [[code, signal], output, errors] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ])
  if (code !== 0) throw new Error(`\`go ${args.join(' ')}\` ended with ${code ?? signal}:\n${output}${errors}`)
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
