import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCommand, until } from '../../packages/cli/test/support/command.ts'
import { Browser } from './browser.ts'

const REPLICAS = ['replica-1', 'replica-2', 'replica-3']

/** Takes the picture of the documents: three replicas of the example, after a transfer, a step-down and a kill. */
export async function takeScreenshot(file: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-screenshot-'))
  const main = join(import.meta.dirname, '../../examples/quickstart/main.ts')
  const program = ['--replicas', '3', '--', process.execPath, '--conditions=@tenure/source', main]
  const env = { PATH: process.env['PATH'] }
  const dev = startCommand(['dev', '--kubeconfig', join(folder, 'kubeconfig'), ...program], { env })
  try {
    await using browser = await Browser.start()
    const address = /Page: (http\S+)/
    await until(() => address.test(dev.printed.out))
    const page = await browser.open(address.exec(dev.printed.out)?.[1] ?? '')
    await page.setViewportSize({ width: 1100, height: 760 })
    await page.click('[role=option]')
    await page.keyboard.press('+')
    for (const action of ['transfer', 'step-down', 'transfer']) {
      await until(async () => (await page.locator('#successor option').count()) === REPLICAS.length - 1)
      await page.click(`#${action}`)
      await until(async () => /The handover took/.test((await page.textContent('#outcome')) ?? ''))
    }
    const [, leader = ''] = /^(replica-\d)/.exec((await page.textContent('[role=option] .holder')) ?? '') ?? []
    await page.getByText(`Kill ${leader}`).click()
    await until(async () => !((await page.textContent('[role=option] .holder')) ?? '').startsWith(leader))
    await until(async () => (await page.locator('#explanation li').count()) > 3)
    await page.evaluate('document.activeElement.blur()')
    await page.screenshot({ path: file, fullPage: true })
  } finally {
    dev.interrupt()
    await dev.done
    await rm(folder, { recursive: true, force: true })
  }
}
