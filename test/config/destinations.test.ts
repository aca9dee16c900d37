import t from 'tap';
import { readSettings, SettingError } from '../../config/settings.ts';

const blocked = (value: string) => readSettings({ BLOCKED_DESTINATIONS: value }).blockedDestinations;

t.test('the default keeps fraud out and lets people through', (t) => {
  const prefixes = blocked('');
  const isBlocked = (to: string): boolean => prefixes.some((prefix) => to.startsWith(prefix));
  for (const to of ['+19005550100', '+449098790000', '+881612345678', '+870773111111', '+882161234567', '+979123456789', '+4990012345', '+2101234567', '+9991234567', '+8991234567']) t.ok(isBlocked(to), to);
  for (const to of [
    '+15005550001', '+14155550100', '+442071838750', '+4930123456', '+33123456789', '+31201234567', '+390612345678', '+34911234567', '+41441234567', '+4312345678',
    '+211912345678', '+29112345678', '+38349123456', '+4231234567', '+6901234', '+85212345678', '+88012345678', '+886212345678', '+97143210000', '+99612345678', '+80012345678',
  ]) t.notOk(isBlocked(to), to);
  t.equal(new Set(prefixes).size, prefixes.length);
  t.end();
});

t.test('an operator\'s own list', (t) => {
  t.same(blocked('+881, +1900,'), ['+881', '+1900']);
  t.same(blocked('none'), []);
  for (const wrong of ['881', '+', '+1x', 'all', '+1234567890123456', '+881;+1900']) t.throws(() => blocked(wrong), SettingError, wrong);
  t.equal(readSettings({}).accountConcurrency, 20);
  t.throws(() => readSettings({ ACCOUNT_CONCURRENCY: '0' }), /ACCOUNT_CONCURRENCY must be a whole number/);
  t.end();
});
