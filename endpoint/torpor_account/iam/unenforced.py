"""What becomes of IAM's operations that Torpor does not have, where it enforces policies.

moto would answer many of them, and nothing would heed what it stores. Those that could grant or refuse somebody
something, or that would tell of users whom moto does not know, are refused by name. The rest is harmless.
"""

from collections.abc import Mapping
from types import MappingProxyType

from torpor_account.aws.calls import Otherwise, Unanswered
from torpor_account.aws.wire.asgi import AwsRequest, Response
from torpor_account.iam.policies.managed import SHOWING

_LEFT: tuple[tuple[str, str], ...] = (
    (
        "moto has them, and nobody is let in by them",
        "CreateAccountAlias DeleteAccountAlias ListAccountAliases "
        "CreateInstanceProfile GetInstanceProfile ListInstanceProfiles DeleteInstanceProfile TagInstanceProfile "
        "UntagInstanceProfile ListInstanceProfileTags AddRoleToInstanceProfile RemoveRoleFromInstanceProfile "
        "UploadServerCertificate GetServerCertificate ListServerCertificates UpdateServerCertificate "
        "DeleteServerCertificate TagServerCertificate UntagServerCertificate ListServerCertificateTags",
    ),
)
_REFUSED: tuple[tuple[str, str], ...] = (
    (
        "no user of Torpor's has a password: sign with access keys",
        "CreateLoginProfile GetLoginProfile UpdateLoginProfile DeleteLoginProfile ChangePassword "
        "UpdateAccountPasswordPolicy GetAccountPasswordPolicy DeleteAccountPasswordPolicy",
    ),
    (
        "Torpor has no second factor",
        "CreateVirtualMFADevice DeleteVirtualMFADevice ListVirtualMFADevices EnableMFADevice DeactivateMFADevice "
        "ResyncMFADevice GetMFADevice ListMFADevices TagMFADevice UntagMFADevice ListMFADeviceTags",
    ),
    (
        "Torpor verifies no tokens of identity providers",
        "CreateSAMLProvider GetSAMLProvider UpdateSAMLProvider DeleteSAMLProvider ListSAMLProviders TagSAMLProvider "
        "UntagSAMLProvider ListSAMLProviderTags "
        "CreateOpenIDConnectProvider GetOpenIDConnectProvider DeleteOpenIDConnectProvider ListOpenIDConnectProviders "
        "UpdateOpenIDConnectProviderThumbprint AddClientIDToOpenIDConnectProvider "
        "RemoveClientIDFromOpenIDConnectProvider TagOpenIDConnectProvider UntagOpenIDConnectProvider "
        "ListOpenIDConnectProviderTags "
        "EnableOutboundWebIdentityFederation DisableOutboundWebIdentityFederation "
        "GetOutboundWebIdentityFederationInfo SetSecurityTokenServicePreferences",
    ),
    (
        "Torpor takes no credentials but access keys",
        "CreateServiceSpecificCredential ListServiceSpecificCredentials UpdateServiceSpecificCredential "
        "ResetServiceSpecificCredential DeleteServiceSpecificCredential "
        "UploadSSHPublicKey GetSSHPublicKey ListSSHPublicKeys UpdateSSHPublicKey DeleteSSHPublicKey "
        "UploadSigningCertificate ListSigningCertificates UpdateSigningCertificate DeleteSigningCertificate",
    ),
    (
        "Torpor keeps no account of who used what, and moto does not know its users",
        "GenerateCredentialReport GetCredentialReport GetAccountSummary GetAccessKeyLastUsed "
        "GenerateServiceLastAccessedDetails GetServiceLastAccessedDetails GetServiceLastAccessedDetailsWithEntities "
        "ListPoliciesGrantingServiceAccess GetHumanReadableSummary",
    ),
    (
        "give the documents to GetContextKeysForCustomPolicy",
        "GetContextKeysForPrincipalPolicy",
    ),
    (
        "Torpor has one account, without an organization",
        "EnableOrganizationsRootCredentialsManagement DisableOrganizationsRootCredentialsManagement "
        "EnableOrganizationsRootSessions DisableOrganizationsRootSessions ListOrganizationsFeatures "
        "GenerateOrganizationsAccessReport GetOrganizationsAccessReport GetAccountProperties PutAccountProperties",
    ),
    (
        "Torpor delegates no rights by request",
        "CreateDelegationRequest GetDelegationRequest ListDelegationRequests UpdateDelegationRequest "
        "AssociateDelegationRequest AcceptDelegationRequest RejectDelegationRequest SendDelegationToken "
        "AcquireRole GetRoleTemplateVersion",
    ),
)


def _by_name(rows: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return MappingProxyType({name: why for why, names in rows for name in names.split()})


HARMLESS = _by_name(_LEFT)
"""The operations that stay moto's where policies are enforced, and why."""
REFUSED = _by_name(_REFUSED)
"""The operations that are refused where policies are enforced, and why."""
UNKNOWN = "it is new, and Torpor does not know whether it would grant or refuse something"


def refusing_unenforced(otherwise: Otherwise) -> Otherwise:
    """Answers as `otherwise`, but for what nothing would heed."""

    async def answer(service: str, operation: str, request: AwsRequest) -> Response:
        if operation in HARMLESS or operation in SHOWING:
            return await otherwise(service, operation, request)
        why = REFUSED.get(operation, UNKNOWN)
        raise Unanswered(f"Torpor refuses the operation {operation} of {service} while --auth is on: {why}.")

    return answer
