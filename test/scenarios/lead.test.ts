import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type ApiServer, openApiServer } from './api-server.ts'
import { Scenario } from './scenario.ts'

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe('lead()', () => {
  it('runs one function while the process leads, and returns after a stop, drained and released', async () => {
    await using scenario = await Scenario.open(server)
    await scenario.grant('alpha')
    const kubeConfig = await scenario.writeKubeConfig('alpha', server.kubeConfig(scenario.userOf('alpha')))

    const program = spawn(
      process.execPath,
      ['--conditions=@tenure/source', join(import.meta.dirname, 'lead-program.ts')],
      {
        env: {
          PATH: process.env['PATH'],
          KUBECONFIG: kubeConfig,
          TENURE_LEASE: scenario.leaseName,
          TENURE_NAMESPACE: scenario.namespace,
          TENURE_IDENTITY: 'alpha',
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    onTestFinished(() => void program.kill('SIGKILL'))
    const said = text(program.stdout)
    // Which of the two comes first is open.
    const [{ version }] = await Promise.all([scenario.lease.heldBy('alpha'), once(program.stdout, 'readable')])
    program.kill('SIGTERM')
    const [code] = await once(program, 'close')

    expect(code).toBe(0)
    expect(await said).toBe(`leads with epoch ${version}\ndone\n`)
    expect((await scenario.storedLease())?.holderIdentity).toBe('')
  })
})
