import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Program } from './program.ts'

const FILE = join(import.meta.dirname, 'programs/wrong-uses.ts')

async function outcomeOf(use: string, env: NodeJS.ProcessEnv = {}) {
  await using program = new Program(FILE, { WRONG_USE: use, ...env })
  const { code } = await program.ended
  return { code, output: program.output }
}

describe.concurrent('A program that uses Tenure wrongly', () => {
  test('without work for `lead()` ends with code 2 and is shown how to call it', async () => {
    const { code, output } = await outcomeOf('lead-without-work')
    expect(output).toMatch(
      /Expected `work` of `lead\(options, work\)` to be a function, got `undefined`\. Write `lead\(/,
    )
    expect(code).toBe(2)
  })

  test('with a class in the place of a factory is shown the function to write', async () => {
    const { code, output } = await outcomeOf('class-as-factory')
    expect(output).toContain('got the class `Janitor`. Write `register(() => new Janitor())`')
    expect(code).toBe(1)
  })

  test('with the console as its logger ends with code 2 and reads what is missing', async () => {
    const { code, output } = await outcomeOf('console-as-logger')
    expect(output).toContain('got one without `child()`')
    expect(code).toBe(2)
  })

  test('starts beside a Service named `tenure-ops`', async () => {
    const { code, output } = await outcomeOf('service-named-tenure-ops', { TENURE_OPS_PORT: 'tcp://10.0.0.1:80' })
    expect(output).toContain('accepted')
    expect(code).toBe(0)
  })

  test('with a global metric that outlives its run reads where to define it', async () => {
    const { output } = await outcomeOf('global-metric')
    expect(output).toMatch(/swept_total has already been registered\. Define it with `registers: \[metrics\(term\)\]`/)
  })

  test('with `process.exit()` in its run keeps its code, and reads that the lease is left to expire', async () => {
    const { code, output } = await outcomeOf('exit-in-run')
    expect(
      output.match(/^Tenure: process\.exit\(7\) was called at .*wrong-uses\.ts:\d+:\d+ while .* leads `janitor`/gm),
    ).toHaveLength(1)
    expect(output).toContain('await manager.stop()')
    expect(code).toBe(7)
  })

  test('without a controller reads, once, that it leads and does nothing', async () => {
    const { code, output } = await outcomeOf('no-controllers')
    expect(output.match(/this replica will lead and do nothing/g)).toHaveLength(1)
    expect(code).toBe(0)
  })
})
