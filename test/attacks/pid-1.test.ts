import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from '../scenarios/api-server.ts'
import { ExecProcess } from '../scenarios/exec/exec-process.ts'
import { Scenario } from '../scenarios/scenario.ts'

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

/** Makes a process PID 1 of its own namespace, as in a container. */
const AS_PID_1 = ['unshare', '--map-root-user', '--pid', '--fork', '--mount-proc'] as const

it('as PID 1, `tenure exec` reaps the orphans of its program, passes signals on and exits with the code of the program', async () => {
  await using scenario = await Scenario.open(server)
  const command = ['orphans.sh']
  await using exec = await ExecProcess.start(server, scenario, 'alpha', { command, wrapper: AS_PID_1 })
  expect(await exec.lines('notes', 1)).toEqual(['0 zombies'])
  const pid = Number(readFileSync(`/proc/${exec.pid}/task/${exec.pid}/children`, 'utf8'))
  process.kill(pid, 'SIGTERM')
  expect((await exec.exited).code).toBe(9)
  expect(await scenario.storedLease()).toMatchObject({ holderIdentity: '' })
})
