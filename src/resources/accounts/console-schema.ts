import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { Nullable, NullableString, OneOf, Timestamp } from '../../api/schemas.ts';

const closed = { additionalProperties: false };
const email = () => Type.String({ minLength: 3, maxLength: 254, pattern: '^[^\\s@\\x00-\\x1f]+@[^\\s@\\x00-\\x1f]+$' });
const newPassword = () => Type.String({ minLength: 12, maxLength: 256, description: 'At least 12 characters.' });
const anyPassword = () => Type.String({ minLength: 1, maxLength: 256 });
const accountName = () => Type.String({ minLength: 1, maxLength: 200 });
const personName = () => Type.Optional(Type.String({ minLength: 1, maxLength: 200 }));

export const Account = Type.Object({
  id: Type.String(), object: Type.Literal('account'), name: Type.String(),
  allowed_origins: Type.Array(Type.String(), { description: 'Origins whose pages may join realtime sessions.' }), created_at: Timestamp,
});
export type Account = Static<typeof Account>;
export const AccountList = listOf(Account);

const Person = Type.Object({ id: Type.String(), object: Type.Literal('person'), email: Type.String(), name: NullableString, operator: Type.Boolean() });
export const ConsoleSession = Type.Object({
  object: Type.Literal('console_session'),
  account: Account,
  person: Nullable(Person),
  operator: Type.Boolean({ description: 'May make accounts, give credit and set prices.' }),
  setup_done: Type.Boolean(),
});
export type ConsoleSession = Static<typeof ConsoleSession>;

export const SignIn = Type.Object({ email: email(), password: anyPassword() }, closed);
export const SetUp = Type.Object({ email: email(), password: newPassword(), name: personName(), account_name: Type.Optional(accountName()) }, closed);
export const ChangePassword = Type.Object({ current_password: anyPassword(), new_password: newPassword() }, closed);
export const CreateAccount = Type.Object({ name: accountName(), email: email(), password: newPassword(), person_name: personName() }, closed);
export const AccountWithKeys = Type.Object({ ...Account.properties, keys: Type.Object({ live: Type.String(), test: Type.String() }, { description: 'Shown this once.' }) });
export const UpdateAccount = Type.Object({
  name: Type.Optional(accountName()),
  allowed_origins: Type.Optional(Type.Array(Type.String({ maxLength: 300, pattern: '^https?://[A-Za-z0-9.\\-\\[\\]:]+$' }), { maxItems: 50, uniqueItems: true })),
}, closed);
export const ListAccounts = Type.Object({ ...PAGE_PARAMETERS }, closed);
export const FirstKey = Type.Object({ mode: OneOf(['live', 'test']) }, closed);
export const FirstKeyMade = Type.Object({ object: Type.Literal('first_key'), mode: OneOf(['live', 'test']), secret: Type.String({ description: 'Shown this once.' }) });
