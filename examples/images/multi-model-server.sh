# Multi Model Server on the given port, as `torpor conformance` starts a container by a command:
#
#     torpor conformance --model english.tar.gz=english -- sh examples/images/multi-model-server.sh {port}
#
# Its files go into the folder that follows the port, else into a temporary one: also that with its process id, which would
# keep a second server from its start.
set -e
folder=${2:-$(mktemp -d)}
export TMPDIR="$folder"
cat > "$folder/mms.properties" <<PROPERTIES
inference_address=http://127.0.0.1:$1
management_address=http://127.0.0.1:$1
model_store=/
default_workers_per_model=1
default_service_handler=service.py:handle
decode_input_request=false
PROPERTIES
cd "$folder"
exec multi-model-server --start --foreground --model-store / --mms-config mms.properties
