import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from './api-server.ts'
import { ExecProcess, type ExecStart } from './exec/exec-process.ts'
import { Scenario } from './scenario.ts'

let server: ApiServer
let folder: string
beforeAll(async () => {
  server = await openApiServer()
  folder = await mkdtemp(join(tmpdir(), 'tenure-exec-test-'))
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const start = (scenario: Scenario, name: string, options: ExecStart) =>
  ExecProcess.start(server, scenario, name, options)

/** Short, for tests that wait for a lease to expire. */
const BRIEF = ['--lease-duration-ms', '4000'] as const

/** The epochs in a ledger, in the order of the acts. */
async function epochsIn(ledger: string): Promise<readonly number[]> {
  return (await readFile(ledger, 'utf8')).split('\n').slice(0, -1).map(Number)
}

function isInOrder(epochs: readonly number[]): boolean {
  return epochs.every((epoch, index) => epoch > 0 && epoch >= (epochs[index - 1] ?? 0))
}

/** Waits until the program of another term has acted. */
async function newerThan(ledger: string, epoch: number): Promise<number> {
  for (;;) {
    const last = (await epochsIn(ledger).catch(() => [])).at(-1) ?? 0
    if (last > epoch) return last
    await sleep(10)
  }
}

describe.concurrent('tenure exec', () => {
  it('gives the program its term, its arguments and its standard streams, and releases the lease when it succeeds', async () => {
    await using scenario = await Scenario.open(server)
    await using exec = await start(scenario, 'alpha', { command: ['echo.sh', 'one', '--help'], input: 'input\n' })
    const { code } = await exec.exited
    expect(code).toBe(0)
    const { version } = await scenario.lease.heldBy('alpha')
    expect(exec.stdout).toBe(`janitor ${scenario.namespace} alpha ${version} one --help\ninput\n`)
    expect(exec.stderr).toMatch(/^error$/m)
    expect(await scenario.storedLease()).toMatchObject({ holderIdentity: '' })
  })

  it('releases the lease only after every child, grandchild and daemon of the program has ended', async () => {
    await using scenario = await Scenario.open(server)
    await using exec = await start(scenario, 'alpha', { command: ['family.sh'], flags: ['--drain-timeout-ms', '500'] })
    await exec.pids(6)
    expect(exec.alive()).toHaveLength(6)
    exec.signal('SIGTERM')
    await scenario.lease.heldBy('', { from: 1 })
    expect(exec.alive()).toEqual([])
    expect((await exec.exited).code).toBe(0)
  })

  it('kills a program that ignores SIGTERM after the drain timeout, releases the lease and exits with 137', async () => {
    await using scenario = await Scenario.open(server)
    const flags = ['--drain-timeout-ms', '300']
    await using exec = await start(scenario, 'alpha', { command: ['stubborn.sh'], flags })
    await exec.pids(1)
    expect((await exec.terminate()).code).toBe(137)
    expect(exec.alive()).toEqual([])
    expect(await scenario.storedLease()).toMatchObject({ holderIdentity: '' })
  })

  it('stops the program with the signal that was chosen, which is a clean stop', async () => {
    await using scenario = await Scenario.open(server)
    const flags = ['--stop-signal', 'int']
    await using exec = await start(scenario, 'alpha', { command: ['interrupted.sh'], flags })
    await exec.pids(1)
    expect((await exec.terminate()).code).toBe(0)
    expect(exec.stdout).toBe('SIGINT\n')
  })

  it('leads as long as a daemon runs that the program has left behind, and then releases and exits with 0', async () => {
    await using scenario = await Scenario.open(server)
    await using exec = await start(scenario, 'alpha', { command: ['daemon.sh'] })
    await exec.pids(1)
    await scenario.lease.changes(2)
    expect(await scenario.storedLease()).toMatchObject({ holderIdentity: 'alpha' })
    await writeFile(join(exec.folder, 'enough'), '')
    expect((await exec.exited).code).toBe(0)
    expect(exec.alive()).toEqual([])
    expect(await scenario.storedLease()).toMatchObject({ holderIdentity: '' })
  })

  it('refuses a program that does not exist with 127, and a file that is not executable with 126, before it touches the lease', async () => {
    await using scenario = await Scenario.open(server)
    const file = join(folder, 'plain')
    await writeFile(file, '')
    await using missing = await start(scenario, 'alpha', { command: ['no-such-program'] })
    await using plain = await start(scenario, 'beta', { command: [file] })
    expect((await missing.exited).code).toBe(127)
    expect((await plain.exited).code).toBe(126)
    expect(missing.stderr).toBe('Could not start `no-such-program`: no such program. The lease was not touched.\n')
    expect(await scenario.storedLease()).toBeUndefined()
  })

  it('releases the lease and exits with 127 when the interpreter of the program is missing', async () => {
    await using scenario = await Scenario.open(server)
    const file = join(folder, 'interpreted')
    await writeFile(file, '#!/no/such/interpreter\n')
    await chmod(file, 0o755)
    await using exec = await start(scenario, 'alpha', { command: [file] })
    expect((await exec.exited).code).toBe(127)
    expect(await scenario.storedLease()).toMatchObject({ holderIdentity: '' })
  })

  it('restarts a program that fails within the term, and leaves the lease to others when it has failed too often', async () => {
    await using scenario = await Scenario.open(server)
    const flags = ['--max-restarts', '2']
    await using exec = await start(scenario, 'alpha', { command: ['fails.sh'], flags })
    const runs = await exec.lines('runs', 3)
    await scenario.lease.heldBy('', { from: 1 })
    expect(new Set(runs).size).toBe(1)
    await using next = await start(scenario, 'beta', { command: ['signals.sh'] })
    await next.pids(1)
    expect((await exec.terminate()).code).toBe(0)
    expect(await exec.lines('runs', 3)).toHaveLength(3)
  })

  it('exits with the code of the program that has failed for good with `--on-loss exit`', async () => {
    await using scenario = await Scenario.open(server)
    const flags = ['--max-restarts', '0', '--on-loss', 'exit']
    await using exec = await start(scenario, 'alpha', { command: ['fails.sh'], flags })
    expect((await exec.exited).code).toBe(5)
    expect(await exec.lines('runs', 1)).toHaveLength(1)
    expect(await scenario.storedLease()).toMatchObject({ holderIdentity: '' })
  })

  it('passes signals on to the program, and exits with the code with which the program stops', async () => {
    await using scenario = await Scenario.open(server)
    await using exec = await start(scenario, 'alpha', { command: ['signals.sh'] })
    await exec.pids(1)
    const signals = ['SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const
    for (const [index, signal] of signals.entries()) {
      exec.signal(signal)
      await exec.lines('signals', index + 1)
    }
    expect(await exec.lines('signals', 5)).toEqual(['HUP', 'QUIT', 'USR1', 'USR2', 'WINCH'])
    expect(exec.stderr).not.toContain('Debugger')
    expect((await exec.terminate()).code).toBe(9)
  })

  it('stops the program when another holder is seen, and runs it again in its next term', async () => {
    await using scenario = await Scenario.open(server)
    const ledger = join(folder, 'restart')
    await using exec = await start(scenario, 'alpha', { command: ['ledger.sh', ledger], flags: BRIEF })
    const first = await newerThan(ledger, 0)
    await exec.pids(2)
    await scenario.seizeLease('somebody', 4)
    while (exec.alive().length > 0) await sleep(10)
    await newerThan(ledger, first)
    expect((await exec.terminate()).code).toBe(0)
    expect(isInOrder(await epochsIn(ledger))).toBe(true)
  })

  it('stops the program and exits with 10 when another holder is seen with `--on-loss exit`', async () => {
    await using scenario = await Scenario.open(server)
    const flags = ['--on-loss', 'exit']
    await using exec = await start(scenario, 'alpha', { command: ['family.sh'], flags })
    await exec.pids(6)
    await scenario.seizeLease('somebody')
    expect((await exec.exited).code).toBe(10)
    expect(exec.alive()).toEqual([])
    expect(await scenario.storedLease()).toMatchObject({ holderIdentity: 'somebody' })
  })

  it('serves health checks on the port that it is given', async () => {
    await using scenario = await Scenario.open(server)
    await using exec = await start(scenario, 'alpha', { command: ['signals.sh'], flags: ['--ops-port', '0'] })
    await exec.pids(1)
    const port = /"port":(\d+)/.exec(exec.stderr)?.[1]
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { headers: { connection: 'close' } })
    expect(answer.status).toBe(200)
  })
})

describe.concurrent('two fleets of `tenure exec`', () => {
  it('hand over again and again, and no program acts after one of a later term', async () => {
    await using scenario = await Scenario.open(server)
    const ledger = join(folder, 'handovers')
    const flags = ['--drain-timeout-ms', '200']
    const replica = (name: string) => start(scenario, name, { command: ['ledger.sh', ledger], flags })
    /** Leads from the start, and hands over to a replica that starts later, and so on. */
    const lead = async (name: string, after: number, rounds: number): Promise<void> => {
      await using leader = await replica(name)
      const epoch = await newerThan(ledger, after)
      if (rounds === 0) return
      const handedOver = lead(`replica-${5 - rounds}`, epoch, rounds - 1)
      expect((await leader.terminate()).code).toBe(0)
      await handedOver
    }
    await lead('replica-0', 0, 4)
    const epochs = await epochsIn(ledger)
    expect(isInOrder(epochs)).toBe(true)
    expect(new Set(epochs).size).toBe(5)
  })

  it('leave the lease to expire when the leader is killed, and its program has ended long before', async () => {
    await using scenario = await Scenario.open(server)
    const ledger = join(folder, 'killed')
    const command = ['ledger.sh', ledger]
    await using leader = await start(scenario, 'alpha', { command, flags: BRIEF })
    const epoch = await newerThan(ledger, 0)
    await leader.pids(2)
    await using next = await start(scenario, 'beta', { command, flags: BRIEF })
    leader.signal('SIGKILL')
    while (leader.alive().length > 0) await sleep(5)
    expect(await scenario.storedLease()).toMatchObject({ holderIdentity: 'alpha' })
    await newerThan(ledger, epoch)
    expect((await next.pids(2)).length).toBe(2)
    expect(isInOrder(await epochsIn(ledger))).toBe(true)
    expect(scenario.lease.entries.filter(({ holder }) => holder === '')).toEqual([])
  })

  it('have no program of a leader that is paused beyond its lease when the next one begins', async () => {
    await using scenario = await Scenario.open(server)
    const ledger = join(folder, 'paused')
    const command = ['ledger.sh', ledger]
    await using leader = await start(scenario, 'alpha', { command, flags: BRIEF })
    const epoch = await newerThan(ledger, 0)
    await leader.pids(2)
    await using next = await start(scenario, 'beta', { command, flags: BRIEF })
    leader.signal('SIGSTOP')
    await scenario.lease.heldBy('beta')
    expect(leader.alive()).toEqual([])
    await newerThan(ledger, epoch)
    expect((await next.pids(2)).length).toBe(2)
    expect((await leader.exited).signal).toBe('SIGKILL')
    expect(isInOrder(await epochsIn(ledger))).toBe(true)
  })
})
