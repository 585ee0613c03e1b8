import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { INIT_SCRIPT } from '../../src/exec/container-init.ts'

const SHELLS = ['/bin/sh', '/bin/dash', '/bin/bash', '/bin/busybox'].filter((path) => existsSync(path))

describe.each(SHELLS)('the init process in %s', (shell) => {
  const run = (script: string, ...command: readonly string[]) => {
    const applet = shell.endsWith('busybox') ? ['sh'] : []
    return spawn(shell, [...applet, '-c', script, 'tenure-init', ...command], { stdio: ['pipe', 'pipe', 'inherit'] })
  }
  const start = (...command: readonly string[]) => run(INIT_SCRIPT, ...command)

  it('gives the command its standard input and ends with its exit code', async () => {
    const init = start('sh', '-c', 'cat; exit 7')
    init.stdin.end('input')
    const [said, [code]] = await Promise.all([text(init.stdout), once(init, 'exit')])
    expect([said, code]).toEqual(['input', 7])
  })

  it.each(['SIGHUP', 'SIGTERM', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const)('passes %s on', async (signal) => {
    const init = start('sh', '-c', `trap 'exit 9' ${signal.slice(3)}; echo ready; while :; do sleep 0.01; done`)
    await once(init.stdout, 'data')
    init.kill(signal)
    expect(await once(init, 'exit')).toEqual([9, null])
  })

  it.each([9, 143])('ends with exit code %i of a command that ends while its signal is passed on', async (code) => {
    const slowKill = 'kill() { command kill "$@"; set -- $?; sleep 0.2; return "$1"; }'
    const waitsForSignal = `trap 'exit ${code}' TERM; echo ready; while :; do sleep 0.01; done`
    const init = run(`${slowKill}\n${INIT_SCRIPT}`, 'sh', '-c', waitsForSignal)
    await once(init.stdout, 'data')
    init.kill('SIGTERM')
    expect(await once(init, 'exit')).toEqual([code, null])
  })

  it('ends with 128 plus the number of the signal that ended the command', async () => {
    const init = start('sh', '-c', 'kill -KILL $$')
    expect(await once(init, 'exit')).toEqual([137, null])
  })
})
