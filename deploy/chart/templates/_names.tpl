{{/* What the templates need to know of the cloud: its program and the variables of its credentials. */}}
{{- define "fairlead.cloud" -}}
{{- $clouds := (.Files.Get "files/clouds.yaml" | fromYaml).clouds -}}
{{- $names := keys $clouds | sortAlpha -}}
{{- /* helm lint renders without required values, too. */ -}}
{{- $cloud := required (printf "cloud is required: one of %s" ($names | join ", ")) .Values.cloud | default (first $names) -}}
{{- index $clouds $cloud | toYaml -}}
{{- end -}}

{{- define "fairlead.program" -}}
{{- (include "fairlead.cloud" . | fromYaml).program -}}
{{- end -}}

{{/* The name of all objects. */}}
{{- define "fairlead.name" -}}
{{- .Values.nameOverride | default (include "fairlead.program" .) -}}
{{- end -}}

{{- define "fairlead.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "fairlead.name" .) -}}
{{- end -}}

{{/* The value of a flag, or its default: {{ include "fairlead.flag" (list . "secure-port") }}. Zero is a value. */}}
{{- define "fairlead.flag" -}}
{{- $name := index . 1 -}}
{{- with index . 0 -}}
{{- if hasKey .Values.configuration.flags $name -}}
{{- index .Values.configuration.flags $name -}}
{{- else -}}
{{- index (.Files.Get "files/clouds.yaml" | fromYaml).flags $name -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "fairlead.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "fairlead.labels" -}}
{{ include "fairlead.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
component: cloud-controller-manager
tier: control-plane
{{- end -}}

{{- define "fairlead.image" -}}
{{- $repository := required "image.repository is required: no image is published yet, so push one to your registry and set its repository" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
